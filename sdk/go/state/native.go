//go:build !wasip1

package state

import "gpud.internal/gpud/internal/nohost"

// Backend stands behind this package in native builds; package gpudtest has one.
type Backend interface {
	Get(key string) ([]byte, error)
	Set(key string, value []byte) error
	Delete(key string) error
	Keys(prefix string) ([]string, error)
}

var backend Backend

// SetBackend puts a backend in place and gives the one that was there.
func SetBackend(b Backend) Backend {
	before := backend
	backend = b
	return before
}

func host() Backend { return nohost.Require(backend, backend != nil) }

func get(key string) ([]byte, error)       { return host().Get(key) }
func set(key string, value []byte) error   { return host().Set(key, value) }
func remove(key string) error              { return host().Delete(key) }
func keys(prefix string) ([]string, error) { return host().Keys(prefix) }
