//go:build !wasip1

package history

import (
	"time"

	"gpud.internal/gpud/internal/nohost"
)

// Backend stands behind this package in native builds; package gpudtest has one.
type Backend interface {
	OwnEvents(since time.Time, limit uint32) ([]StoredEvent, error)
	Reboots(since time.Time) ([]time.Time, error)
	SetHealthyMarks(since time.Time) ([]time.Time, error)
	Available() bool
}

var backend Backend

// SetBackend puts a backend in place and gives the one that was there.
func SetBackend(b Backend) Backend {
	before := backend
	backend = b
	return before
}

func host() Backend { return nohost.Require(backend, backend != nil) }

func ownEvents(since time.Time, limit uint32) ([]StoredEvent, error) {
	return host().OwnEvents(since, limit)
}
func reboots(since time.Time) ([]time.Time, error)         { return host().Reboots(since) }
func setHealthyMarks(since time.Time) ([]time.Time, error) { return host().SetHealthyMarks(since) }
func available() bool                                      { return host().Available() }
