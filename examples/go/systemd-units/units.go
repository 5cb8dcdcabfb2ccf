package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gpud.internal/gpud"
	"gpud.internal/gpud/exec"
)

// properties of a unit that are asked for (org.freedesktop.systemd1, systemctl(1)).
const properties = "Id,Names,LoadState,ActiveState,SubState,Result,NRestarts"

// errNoSystemd: systemctl is there, but something else is process 1 (as in most containers).
var errNoSystemd = errors.New("systemd is not process 1")

// unit is one unit as systemctl shows it.
type unit struct {
	// ID is the unit's name; Names also has its aliases.
	ID, Names string
	// Load is loaded, not-found, masked, error …
	Load string
	// Active is active, reloading, inactive, failed, activating, deactivating …
	Active string
	// Sub is more precise than Active, depending on the type of unit: running, exited, auto-restart …
	Sub string
	// Result says how a service ended: success, exit-code, oom-kill, timeout …
	Result string
	// Restarts by systemd since the unit was loaded.
	Restarts uint64
}

// called says whether the unit has this name or alias.
func (u unit) called(name string) bool {
	if u.ID == name {
		return true
	}
	for alias := range strings.FieldsSeq(u.Names) {
		if alias == name {
			return true
		}
	}
	return false
}

// parse reads the output of "systemctl show": blocks of KEY=VALUE, with an empty line between units.
func parse(output *exec.Output) ([]unit, error) {
	said := strings.ToValidUTF8(string(output.Stderr), "?")
	if strings.Contains(said, "not been booted with systemd") {
		return nil, errNoSystemd
	}
	if output.ExitCode != 0 {
		what := fmt.Sprintf("systemctl show ended with status %d: %s", output.ExitCode, strings.TrimSpace(said))
		return nil, &gpud.AccessError{Kind: gpud.ErrOther, What: gpud.Truncate(what, 500)}
	}
	if output.Truncated {
		return nil, &gpud.AccessError{Kind: gpud.ErrTooLarge, What: "output of systemctl show",
			Size: uint64(len(output.Stdout)) + 1, Limit: uint64(len(output.Stdout))}
	}
	var (
		units []unit
		one   unit
	)
	end := func() {
		if one.ID != "" {
			units = append(units, one)
		}
		one = unit{}
	}
	for line := range strings.Lines(strings.ToValidUTF8(string(output.Stdout), "?")) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		switch key {
		case "":
			end()
		case "Id":
			one.ID = value
		case "Names":
			one.Names = value
		case "LoadState":
			one.Load = value
		case "ActiveState":
			one.Active = value
		case "SubState":
			one.Sub = value
		case "Result":
			one.Result = value
		case "NRestarts":
			one.Restarts, _ = strconv.ParseUint(value, 10, 64)
		}
	}
	end()
	return units, nil
}
