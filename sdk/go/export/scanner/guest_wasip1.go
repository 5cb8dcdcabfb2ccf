// Package scanner exports a scanner from a component.
package scanner

import (
	"gpud.internal/gpud"
	"gpud.internal/gpud/internal/export_gpud_plugin_scanner"
	_ "gpud.internal/gpud/internal/wit/exports/scanner" // the export itself
)

// Export says what scans, beside a checker. Call it from an init function.
func Export(scanner gpud.Scanner) { export_gpud_plugin_scanner.Set(scanner) }
