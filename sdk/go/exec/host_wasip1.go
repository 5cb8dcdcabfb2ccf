package exec

import (
	"time"

	"gpud.internal/gpud/internal/convert"
	wit "gpud.internal/gpud/internal/wit/gpud_plugin_exec"
	"gpud.internal/gpud/internal/wit/gpud_plugin_types"
	"gpud.internal/gpud/internal/witrt"
)

func optionsOf(from Options) wit.Options {
	return wit.Options{
		TimeoutMs:      convert.Milliseconds(from.Timeout),
		MaxOutputBytes: from.MaxOutputBytes,
		Environment:    convert.Pairs(from.Environment),
	}
}

func outputOf(from witrt.Result[wit.Output, gpud_plugin_types.AccessError]) (*Output, error) {
	found, err := convert.Result(from)
	if err != nil {
		return nil, err
	}
	out := &Output{
		ExitCode: -1, Stdout: found.Stdout, Stderr: found.Stderr, Truncated: found.Truncated,
		Duration: time.Duration(found.DurationMs) * time.Millisecond,
	}
	if found.ExitCode.Tag() == witrt.OptionSome {
		out.ExitCode = int(found.ExitCode.Some())
	}
	if found.Signal.Tag() == witrt.OptionSome {
		out.Signal = int(found.Signal.Some())
	}
	return out, nil
}

func runBash(script string, options Options) (*Output, error) {
	return outputOf(wit.RunBash(script, optionsOf(options)))
}

func runProgram(program string, arguments []string, options Options) (*Output, error) {
	return outputOf(wit.RunProgram(program, arguments, optionsOf(options)))
}
