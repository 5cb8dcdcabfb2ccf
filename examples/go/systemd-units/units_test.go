package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"gpud.internal/gpud"
	"gpud.internal/gpud/exec"
	"gpud.internal/gpud/gpudtest"
)

// show is what "systemctl show" prints of a unit.
func show(id, load, active, sub, restarts string) string {
	return "Id=" + id + "\nNames=" + id + "\nLoadState=" + load + "\nActiveState=" + active + "\nSubState=" + sub +
		"\nResult=exit-code\nNRestarts=" + restarts + "\n"
}

func printing(host *gpudtest.Host, blocks ...string) {
	host.Programs = func(program string, arguments []string, _ exec.Options) (*exec.Output, error) {
		if program != "systemctl" || arguments[0] != "show" {
			return nil, gpud.ErrNotFound
		}
		return &exec.Output{Stdout: []byte(strings.Join(blocks, "\n"))}, nil
	}
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		config, block string
		health        gpud.Health
		reason        string
	}{
		{`["a"]`, show("a.service", "loaded", "active", "running", "0"), gpud.Healthy, "1 units as they should be"},
		{`["a"]`, show("a.service", "loaded", "active", "running", "7"), gpud.Healthy, "1 units as they should be"},
		{`["a"]`, show("a.service", "loaded", "failed", "failed", "0"), gpud.Unhealthy, "a.service: failed (exit-code)"},
		{`["a"]`, show("a.service", "loaded", "inactive", "dead", "0"), gpud.Unhealthy, "a.service: inactive (dead)"},
		{`["a"]`, show("a.service", "loaded", "activating", "auto-restart", "3"), gpud.Unhealthy,
			"a.service: activating (auto-restart)"},
		{`["a"]`, show("a.service", "loaded", "activating", "start", "0"), gpud.Healthy, "1 units as they should be"},
		{`["a"]`, show("a.service", "masked", "inactive", "dead", "0"), gpud.Unhealthy,
			"a.service: masked: somebody forbade it to start"},
		{`["a.timer"]`, show("a.timer", "not-found", "inactive", "dead", "0"), gpud.Unhealthy, "a.timer: not installed"},
		{`[{"name": "a", "optional": true}]`, "", gpud.Healthy, "1 units as they should be"},
		{`["a", "b"]`, show("b.service", "loaded", "active", "running", "0"), gpud.Unhealthy, "a.service: not installed"},
	} {
		host := gpudtest.New(t)
		host.Config = `{"units": ` + c.config + `}`
		printing(host, c.block)
		report, err := host.Check(systemdUnits{})
		if err != nil {
			t.Fatalf("%s: %v", c.config, err)
		}
		if state := report.States[0]; state.Health != c.health || state.Reason != c.reason {
			t.Errorf("%s %q: %s: %s", c.config, c.block, state.Health, state.Reason)
		}
	}
}

func TestAUnitGoesDownComesBackAndRestarts(t *testing.T) {
	host := gpudtest.New(t)
	host.Config = `{"units": [{"name": "a", "max_restarts": 1}]}`
	for i, step := range []struct {
		active, sub, restarts, event string
		health                       gpud.Health
	}{
		{"active", "running", "4", "", gpud.Healthy},
		{"failed", "failed", "4", "unit_down", gpud.Unhealthy},
		{"failed", "failed", "4", "", gpud.Unhealthy},
		{"active", "running", "5", "unit_recovered", gpud.Healthy},
		{"active", "running", "6", "", gpud.Healthy},
		{"active", "running", "9", "unit_unstable", gpud.Degraded},
		{"active", "running", "9", "unit_recovered", gpud.Healthy},
		{"active", "running", "0", "", gpud.Healthy},
		{"activating", "start", "0", "", gpud.Initializing},
		{"activating", "start", "0", "unit_unstable", gpud.Degraded},
	} {
		printing(host, show("a.service", "loaded", step.active, step.sub, step.restarts))
		report, err := host.Check(systemdUnits{})
		if err != nil {
			t.Fatal(err)
		}
		event := ""
		if len(report.Events) > 0 {
			event = report.Events[0].Name
		}
		if report.States[0].Health != step.health || event != step.event {
			t.Errorf("step %d: %s, event %q", i, report.States[0].Health, event)
		}
	}
}

func TestMachinesWithoutSystemd(t *testing.T) {
	host := gpudtest.New(t)
	if report, err := host.Check(systemdUnits{}); err != nil || !report.Unsupported {
		t.Errorf("nothing configured: %v %v", report, err)
	}
	host.Config = `{"units": ["a"]}`
	if report, err := host.Check(systemdUnits{}); err != nil || !report.Unsupported {
		t.Errorf("no systemctl: %v %v", report, err)
	}
	said := "System has not been booted with systemd as init system (PID 1). Can't operate.\n"
	host.Programs = func(string, []string, exec.Options) (*exec.Output, error) {
		return &exec.Output{ExitCode: 1, Stderr: []byte(said)}, nil
	}
	if report, err := host.Check(systemdUnits{}); err != nil || !report.Unsupported {
		t.Errorf("another init: %v %v", report, err)
	}
	host.Programs = func(string, []string, exec.Options) (*exec.Output, error) {
		return &exec.Output{ExitCode: 4, Stderr: []byte("no bus")}, nil
	}
	var source *gpud.AccessError
	if _, err := host.Check(systemdUnits{}); !errors.As(err, &source) || !strings.HasSuffix(source.What, "no bus") {
		t.Errorf("%v", err)
	}
	for _, config := range []string{``, `{"units": [""]}`, `{"units": ["*"]}`, `{"units": [3]}`} {
		host.Config = config
		if _, err := host.Check(systemdUnits{}); err == nil || errors.As(err, &source) {
			t.Errorf("%s: %v", config, err)
		}
	}
	if !json.Valid([]byte(schema)) {
		t.Error("the schema is not JSON")
	}
}

// FuzzParse: whatever systemctl prints, there are no more units than lines, and all have names.
func FuzzParse(f *testing.F) {
	f.Add(show("a.service", "loaded", "active", "running", "0"))
	f.Add("Id=\n\nNRestarts=-1\n=\n")
	f.Fuzz(func(t *testing.T, text string) {
		units, err := parse(&exec.Output{Stdout: []byte(text)})
		if err != nil || len(units) > strings.Count(text, "\n")+1 {
			t.Fatalf("%v %v", units, err)
		}
		for _, one := range units {
			if one.ID == "" {
				t.Error("a unit without a name")
			}
		}
	})
}
