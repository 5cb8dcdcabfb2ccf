//go:build !wasip1

package net

import (
	"time"

	"gpud.internal/gpud/internal/nohost"
)

// Backend stands behind this package in native builds; package gpudtest has one.
type Backend interface {
	HTTPGet(request Request) (*Response, error)
	TCPConnect(host string, port uint16, timeout time.Duration) (time.Duration, error)
}

var backend Backend

// SetBackend puts a backend in place and gives the one that was there.
func SetBackend(b Backend) Backend {
	before := backend
	backend = b
	return before
}

func host() Backend { return nohost.Require(backend, backend != nil) }

func httpGet(request Request) (*Response, error) { return host().HTTPGet(request) }
func tcpConnect(name string, port uint16, timeout time.Duration) (time.Duration, error) {
	return host().TCPConnect(name, port, timeout)
}
