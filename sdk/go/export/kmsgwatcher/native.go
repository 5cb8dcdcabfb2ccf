//go:build !wasip1

// Package kmsgwatcher exports a watcher of the kernel log from a component.
package kmsgwatcher

import "gpud.internal/gpud"

// Export says what watches, beside a checker. Call it from an init function. Natively it does nothing.
func Export(gpud.KmsgWatcher) {}
