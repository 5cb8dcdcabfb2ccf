//go:build !wasip1

package log

import "gpud.internal/gpud/internal/nohost"

// Backend stands behind this package in native builds; package gpudtest has one.
type Backend interface {
	Write(level Level, message string)
}

var backend Backend

// SetBackend puts a backend in place and gives the one that was there.
func SetBackend(b Backend) Backend {
	before := backend
	backend = b
	return before
}

func write(level Level, message string) {
	nohost.Require(backend, backend != nil).Write(level, message)
}
