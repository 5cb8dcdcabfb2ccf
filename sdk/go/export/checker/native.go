//go:build !wasip1

// Package checker exports a checker from a component.
package checker

import "gpud.internal/gpud"

// Export says what the component is and what judges. Call it from an init function. Natively it does nothing.
func Export(gpud.Checker, *gpud.Descriptor) {}
