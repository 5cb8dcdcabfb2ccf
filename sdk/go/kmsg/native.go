//go:build !wasip1

package kmsg

import "gpud.internal/gpud/internal/nohost"

// Backend stands behind this package in native builds; package gpudtest has one.
type Backend interface {
	ReadBack(patterns []string, maxMessages uint32) (*LookBack, error)
}

var backend Backend

// SetBackend puts a backend in place and gives the one that was there.
func SetBackend(b Backend) Backend {
	before := backend
	backend = b
	return before
}

func readBack(patterns []string, maxMessages uint32) (*LookBack, error) {
	return nohost.Require(backend, backend != nil).ReadBack(patterns, maxMessages)
}
