//go:build !wasip1

package exec

import "gpud.internal/gpud/internal/nohost"

// Backend stands behind this package in native builds; package gpudtest has one.
type Backend interface {
	RunBash(script string, options Options) (*Output, error)
	RunProgram(program string, arguments []string, options Options) (*Output, error)
}

var backend Backend

// SetBackend puts a backend in place and gives the one that was there.
func SetBackend(b Backend) Backend {
	before := backend
	backend = b
	return before
}

func host() Backend { return nohost.Require(backend, backend != nil) }

func runBash(script string, options Options) (*Output, error) { return host().RunBash(script, options) }
func runProgram(program string, arguments []string, options Options) (*Output, error) {
	return host().RunProgram(program, arguments, options)
}
