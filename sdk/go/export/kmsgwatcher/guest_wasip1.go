// Package kmsgwatcher exports a watcher of the kernel log from a component.
package kmsgwatcher

import (
	"gpud.internal/gpud"
	"gpud.internal/gpud/internal/export_gpud_plugin_kmsg_watcher"
	_ "gpud.internal/gpud/internal/wit/exports/kmsg_watcher" // the export itself
)

// Export says what watches, beside a checker. Call it from an init function.
func Export(watcher gpud.KmsgWatcher) { export_gpud_plugin_kmsg_watcher.Set(watcher) }
