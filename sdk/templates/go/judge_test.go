package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"gpud.internal/gpud"
	"gpud.internal/gpud/gpudtest"
)

func fan(number int) string { return fmt.Sprintf("/sys/class/hwmon/hwmon0/fan%d_input", number) }

func TestSlowFansAreNamed(t *testing.T) {
	for _, c := range []struct {
		fans   []string
		health gpud.Health
		reason string
	}{
		{nil, gpud.Healthy, "this machine shows no fans"},
		{[]string{"900\n", "1200\n"}, gpud.Healthy, "2 fans turn"},
		{[]string{"900", "299"}, gpud.Degraded, "1 of 2 fans are too slow: " + fan(1) + " at 299 rpm"},
		{[]string{"900", "gone"}, gpud.Healthy, "1 fans turn"},
		{[]string{"-1"}, gpud.Degraded, "no fan can be read"},
	} {
		host := gpudtest.New(t)
		for number, content := range c.fans {
			host.Files[fan(number)] = content
		}
		report, err := host.Check(fanCheck{})
		if err != nil {
			t.Fatal(err)
		}
		if state := report.States[0]; state.Health != c.health || state.Reason != c.reason {
			t.Errorf("%v: %s: %s", c.fans, state.Health, state.Reason)
		}
	}
}

func TestTroubleWithASourceIsPassedOn(t *testing.T) {
	host := gpudtest.New(t)
	host.Files[fan(1)] = "900"
	host.Errors[fan(2)] = gpud.ErrTimedOut
	if report, err := host.Check(fanCheck{}); err != nil || len(report.Metrics) != 1 {
		t.Errorf("%v %v", report, err)
	}
	host.Denied["sysfs"] = true
	if _, err := host.Check(fanCheck{}); !errors.Is(err, gpud.ErrDenied) {
		t.Errorf("%v", err)
	}
	if !json.Valid([]byte(schema)) {
		t.Error("the schema is not JSON")
	}
}
