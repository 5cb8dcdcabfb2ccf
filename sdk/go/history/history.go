// Package history gives what the daemon remembers for this component. Grant: "history: true".
package history

import (
	"time"

	"gpud.internal/gpud"
)

// StoredEvent is one stored event with its count.
type StoredEvent struct {
	// Event, without its merge rule.
	Event gpud.Event
	// Count says how many times it was seen.
	Count uint64
	// LastTime it was seen.
	LastTime time.Time
}

// OwnEvents gives this component's own events in seconds later than that of since, newest first; at most limit (at most
// 10,000).
func OwnEvents(since time.Time, limit uint32) ([]StoredEvent, error) { return ownEvents(since, limit) }

// Reboots gives when the machine came up, in seconds later than that of since, newest first.
func Reboots(since time.Time) ([]time.Time, error) { return reboots(since) }

// SetHealthyMarks gives when an operator set this component healthy, later than since, newest first.
func SetHealthyMarks(since time.Time) ([]time.Time, error) { return setHealthyMarks(since) }

// Available says that there is a store behind this: false in "gpud scan", where all lists are empty.
func Available() bool { return available() }
