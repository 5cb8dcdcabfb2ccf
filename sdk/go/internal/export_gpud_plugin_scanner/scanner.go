//go:build wasip1

// Package export_gpud_plugin_scanner is what the generated export of the scanner calls.
package export_gpud_plugin_scanner

import (
	"gpud.internal/gpud"
	"gpud.internal/gpud/internal/convert"
	"gpud.internal/gpud/internal/wit/gpud_plugin_types"
	"gpud.internal/gpud/internal/witrt"
)

var scanner gpud.Scanner

// Set says what to call.
func Set(s gpud.Scanner) { scanner = s }

// Scan is the export scan.
func Scan(from gpud_plugin_types.CheckContext) witrt.Result[gpud_plugin_types.Report, gpud_plugin_types.CheckError] {
	defer convert.LogPanic()
	return convert.Look(scanner.Scan, from)
}
