//go:build !wasip1

package config

import "gpud.internal/gpud/internal/nohost"

// Backend stands behind this package in native builds; package gpudtest has one.
type Backend interface{ Document() string }

var backend Backend

// SetBackend puts a backend in place and gives the one that was there.
func SetBackend(b Backend) Backend {
	before := backend
	backend = b
	return before
}

func document() string { return nohost.Require(backend, backend != nil).Document() }
