//go:build !wasip1

// Package nohost says what is missing when a capability is called in a native build without a fake host.
package nohost

// Require gives the backend if it is there.
func Require[B any](backend B, there bool) B {
	if !there {
		panic("gpud: no host behind this capability: in a unit test, begin with gpudtest.New(t)")
	}
	return backend
}
