// Package log is the plugin's voice in the daemon's log. It needs no grant. Control characters are escaped; a line is
// cut at 4 KiB; a call may write 64 lines, further ones are counted and dropped.
package log

import "fmt"

// Level is how loud a line is.
type Level uint8

// How loud a line is.
const (
	// Debug is for the plugin's author.
	Debug Level = iota
	// Info is for the record.
	Info
	// Warn is worth a look.
	Warn
	// Error: something failed.
	Error
)

// Write writes one line.
func Write(level Level, message string) { write(level, message) }

// Printf writes one formatted line.
func Printf(level Level, format string, arguments ...any) {
	write(level, fmt.Sprintf(format, arguments...))
}
