// Package checker exports a checker from a component.
package checker

import (
	"gpud.internal/gpud"
	"gpud.internal/gpud/internal/export_gpud_plugin_checker"
	_ "gpud.internal/gpud/internal/wit/exports/checker" // the export itself
)

// Export says what the component is and what judges. Call it from an init function.
func Export(checker gpud.Checker, descriptor *gpud.Descriptor) {
	export_gpud_plugin_checker.Set(checker, descriptor)
}
