package main

import (
	"errors"
	"testing"

	"gpud.internal/gpud"
	"gpud.internal/gpud/gpudtest"
)

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		load, config string
		health       gpud.Health
	}{
		{"0.10 0.20 0.30 1/200 4242\n", `{}`, gpud.Healthy},
		{"7.00 0.20 0.30 1/200 4242\n", `{"max_load": 8}`, gpud.Healthy},
		{"8.00 0.20 0.30 1/200 4242\n", `{"max_load": 8}`, gpud.Degraded},
	} {
		host := gpudtest.New(t)
		host.Config = c.config
		host.Files["/proc/loadavg"] = c.load
		report, err := host.Check(check{})
		if err != nil {
			t.Fatal(err)
		}
		if found := report.States[0].Health; found != c.health {
			t.Errorf("%s %s: %s, not %s", c.load, c.config, found, c.health)
		}
	}
}

func TestTrouble(t *testing.T) {
	host := gpudtest.New(t)
	if _, err := host.Check(check{}); !errors.Is(err, gpud.ErrNotFound) {
		t.Errorf("%v", err)
	}
	host.Files["/proc/loadavg"] = "much"
	if _, err := host.Check(check{}); err == nil {
		t.Error("a load that is no number was taken")
	}
}
