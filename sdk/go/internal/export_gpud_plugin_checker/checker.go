//go:build wasip1

// Package export_gpud_plugin_checker is what the generated export of the checker calls.
package export_gpud_plugin_checker

import (
	"gpud.internal/gpud"
	"gpud.internal/gpud/internal/convert"
	"gpud.internal/gpud/internal/wit/gpud_plugin_checker"
	"gpud.internal/gpud/internal/wit/gpud_plugin_types"
	"gpud.internal/gpud/internal/witrt"
)

var (
	checker    gpud.Checker
	descriptor *gpud.Descriptor
)

// Set says what to call.
func Set(c gpud.Checker, d *gpud.Descriptor) { checker, descriptor = c, d }

// Describe is the export describe.
func Describe() gpud_plugin_checker.Descriptor { return convert.Descriptor(descriptor) }

// Check is the export check.
func Check(from gpud_plugin_types.CheckContext) witrt.Result[gpud_plugin_types.Report, gpud_plugin_types.CheckError] {
	defer convert.LogPanic()
	return convert.Look(checker.Check, from)
}
