// Package exec runs programs of the machine. Grant: "exec: bash" for scripts (everything that the daemon's user may
// do), or a list of absolute program paths for RunProgram alone.
//
// What a run starts is killed at the deadline and when the program ends; output beyond the
// limit is read and thrown away. Environment: PATH, HOME, LANG=C, and what Options adds.
package exec

import (
	"time"

	"gpud.internal/gpud"
)

// Options say how to run.
type Options struct {
	// Timeout until the whole process group is killed; zero means 10 seconds; at most the call's own remaining time.
	Timeout time.Duration
	// MaxOutputBytes kept of each of stdout and stderr; zero means 64 KiB; at most 4 MiB.
	MaxOutputBytes uint32
	// Environment is added to the usual one.
	Environment []gpud.Pair
}

const (
	usualTimeout = 10 * time.Second
	usualOutput  = 64 << 10
)

func (o Options) orUsual() Options {
	if o.Timeout <= 0 {
		o.Timeout = usualTimeout
	}
	if o.MaxOutputBytes == 0 {
		o.MaxOutputBytes = usualOutput
	}
	return o
}

// Output is the result of a run.
type Output struct {
	// ExitCode of a program that ended by itself; -1 when a signal ended it.
	ExitCode int
	// Signal that ended it; 0 when it ended by itself.
	Signal int
	// Stdout has the first bytes of standard output.
	Stdout []byte
	// Stderr has the first bytes of standard error.
	Stderr []byte
	// Truncated: output was longer than the limit.
	Truncated bool
	// Duration by the wall clock.
	Duration time.Duration
}

// RunBash runs a bash script, given on standard input. gpud.ErrTimedOut when the deadline ended it.
func RunBash(script string, options Options) (*Output, error) {
	return runBash(script, options.orUsual())
}

// RunProgram runs one program without a shell. A name without a slash is looked up in the system's folders first; the
// resolved path must be granted. gpud.ErrNotFound when there is none.
func RunProgram(program string, arguments []string, options Options) (*Output, error) {
	return runProgram(program, arguments, options.orUsual())
}
