// Package kmsg looks back at the kernel log. (For messages as they come, implement gpud.KmsgWatcher.) Grant: "kmsg:
// true".
package kmsg

import "gpud.internal/gpud"

// LookBack is what a look back found.
type LookBack struct {
	// Messages that match, oldest first; if there were more than asked for, the newest.
	Messages []gpud.Message
	// Scanned is how many records were looked at.
	Scanned uint64
	// Unparsable is how many records could not be understood.
	Unparsable uint64
}

// ReadBack gives messages still in the ring buffer that match any of the patterns (RE2 syntax); at most maxMessages (at
// most 4,096). gpud.ErrDenied when the daemon may not read the log, gpud.ErrNotFound when there is none.
func ReadBack(patterns []string, maxMessages uint32) (*LookBack, error) {
	return readBack(patterns, maxMessages)
}
