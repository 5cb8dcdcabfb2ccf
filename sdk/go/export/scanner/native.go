//go:build !wasip1

// Package scanner exports a scanner from a component.
package scanner

import "gpud.internal/gpud"

// Export says what scans, beside a checker. Call it from an init function. Natively it does nothing.
func Export(gpud.Scanner) {}
