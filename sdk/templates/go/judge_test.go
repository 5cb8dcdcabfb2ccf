package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"gpud.internal/gpud"
	"gpud.internal/gpud/gpudtest"
)

const (
	path    = "/proc/meminfo"
	unknown = "/proc/meminfo does not say how much memory is available"
)

func memory(available int) string {
	return fmt.Sprintf("MemTotal:        1000 kB\nMemFree:           5 kB\nMemAvailable:     %d kB\n", available)
}

func TestTooLittleMemoryIsDegraded(t *testing.T) {
	for _, c := range []struct {
		meminfo string
		health  gpud.Health
		reason  string
	}{
		{memory(610), gpud.Healthy, "61 % of memory is available"},
		{memory(290), gpud.Healthy, "29 % of memory is available"},
		{memory(50), gpud.Healthy, "5 % of memory is available"},
		{memory(49), gpud.Degraded, "4 % of memory is available, less than 5 %"},
		{"", gpud.Degraded, unknown},
		{"MemTotal: 9 kB\n", gpud.Degraded, unknown},
		{memory(1001), gpud.Degraded, unknown},
		{"MemTotal: 0 kB\nMemAvailable: 0 kB\n", gpud.Degraded, unknown},
	} {
		host := gpudtest.New(t)
		host.Files[path] = c.meminfo
		report, err := host.Check(memoryCheck{})
		if err != nil {
			t.Fatal(err)
		}
		if state := report.States[0]; state.Health != c.health || state.Reason != c.reason {
			t.Errorf("%q: %s: %s", c.meminfo, state.Health, state.Reason)
		}
	}
}

func TestTroubleWithASourceIsPassedOn(t *testing.T) {
	host := gpudtest.New(t)
	host.Errors[path] = gpud.ErrTimedOut
	if _, err := host.Check(memoryCheck{}); !errors.Is(err, gpud.ErrTimedOut) {
		t.Errorf("%v", err)
	}
	host.Denied["sysfs"] = true
	if _, err := host.Check(memoryCheck{}); !errors.Is(err, gpud.ErrDenied) {
		t.Errorf("%v", err)
	}
	if !json.Valid([]byte(schema)) {
		t.Error("the schema is not JSON")
	}
}
