//go:build wasip1

package convert

import (
	"fmt"
	"runtime"
	"strings"

	"gpud.internal/gpud/internal/wit/gpud_plugin_log"
)

// LogPanic lets a panic reach the daemon's log with its message and place, in one line, before the instance traps.
func LogPanic() {
	reason := recover()
	if reason == nil {
		return
	}
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	place := ""
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, "runtime.") && !strings.HasPrefix(frame.Function, "gpud.internal/") {
			place = fmt.Sprintf(" at %s:%d", frame.File[strings.LastIndexByte(frame.File, '/')+1:], frame.Line)
			break
		}
		if !more {
			break
		}
	}
	gpud_plugin_log.Write(gpud_plugin_log.Level_Error, valid(fmt.Sprintf("panic%s: %v", place, reason)))
	panic(reason)
}
