//go:build wasip1

// Package export_gpud_plugin_kmsg_watcher is what the generated exports of the kernel log watcher call.
package export_gpud_plugin_kmsg_watcher

import (
	"gpud.internal/gpud"
	"gpud.internal/gpud/internal/convert"
	"gpud.internal/gpud/internal/wit/gpud_plugin_kmsg"
	"gpud.internal/gpud/internal/wit/gpud_plugin_types"
	"gpud.internal/gpud/internal/witrt"
)

var watcher gpud.KmsgWatcher

// Set says what to call.
func Set(w gpud.KmsgWatcher) { watcher = w }

// Patterns is the export patterns.
func Patterns(component string) []string {
	defer convert.LogPanic()
	return watcher.Patterns(component)
}

// OnMessages is the export on-messages.
func OnMessages(
	from gpud_plugin_types.CheckContext, messages []gpud_plugin_kmsg.Message,
) witrt.Result[[]gpud_plugin_types.Event, gpud_plugin_types.CheckError] {
	defer convert.LogPanic()
	events, err := watcher.OnMessages(convert.Context(from), convert.Messages(messages))
	if err != nil {
		return witrt.Err[[]gpud_plugin_types.Event](convert.CheckError(err))
	}
	return witrt.Ok[[]gpud_plugin_types.Event, gpud_plugin_types.CheckError](convert.Events(events))
}
