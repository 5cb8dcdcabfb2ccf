package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"

	"gpud.internal/gpud"
	"gpud.internal/gpud/gpudtest"
)

// chip adds a chip with one sensor.
func chip(host *gpudtest.Host, number int, driver, label, reading string) {
	folder := fmt.Sprintf("/sys/class/hwmon/hwmon%d/", number)
	host.Files[folder+"name"] = driver + "\n"
	host.Files[folder+"temp1_input"] = reading + "\n"
	if label != "" {
		host.Files[folder+"temp1_label"] = label + "\n"
	}
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		config, reading string
		health          gpud.Health
		reason, event   string
	}{
		{`{}`, "45500", gpud.Healthy, "1 sensors, hottest is nvme/Composite with 45.5 °C", ""},
		{`{}`, "-1500", gpud.Healthy, "1 sensors, hottest is nvme/Composite with -1.5 °C", ""},
		{`{}`, "95000", gpud.Degraded, "nvme/Composite: 95.0 °C, warning is 95.0 °C", "temperature_warning"},
		{`{}`, "105000", gpud.Unhealthy, "nvme/Composite: 105.0 °C, critical is 105.0 °C", "temperature_critical"},
		{`{"warn": 40, "critical": 50.5}`, "50400", gpud.Degraded,
			"nvme/Composite: 50.4 °C, warning is 40.0 °C", "temperature_warning"},
		{`{"sensors": {"nvme/Composite": {"warn": 60, "critical": 70}}}`, "71000", gpud.Unhealthy,
			"nvme/Composite: 71.0 °C, critical is 70.0 °C", "temperature_critical"},
		{`{"sensors": {"a/b": {}}}`, "45500", gpud.Degraded, "a/b: no such sensor", ""},
		{`{"sensors": {"nvme/Composite": {}}}`, "255000", gpud.Degraded,
			"nvme/Composite: cannot be read", ""},
		{`{}`, "255000", gpud.Degraded, "none of 1 temperature sensors can be read", ""},
		{`{}`, "warm", gpud.Degraded, "none of 1 temperature sensors can be read", ""},
	} {
		host := gpudtest.New(t)
		host.Config = c.config
		chip(host, 0, "nvme", "Composite", c.reading)
		report, err := host.Check(boardTemperature{})
		if err != nil {
			t.Fatalf("%s %s: %v", c.config, c.reading, err)
		}
		state := report.States[0]
		if state.Health != c.health || state.Reason != c.reason {
			t.Errorf("%s %s: %s: %s", c.config, c.reading, state.Health, state.Reason)
		}
		if event := nameOf(report.Events); event != c.event {
			t.Errorf("%s %s: event %q, not %q", c.config, c.reading, event, c.event)
		}
		if suggests := state.SuggestedActions != nil; suggests != (c.event != "") {
			t.Errorf("%s %s: suggests %v", c.config, c.reading, state.SuggestedActions)
		}
	}
}

func nameOf(events []*gpud.Event) string {
	if len(events) == 0 {
		return ""
	}
	return events[0].Name
}

func TestAnEventIsACrossing(t *testing.T) {
	host := gpudtest.New(t)
	for i, step := range []struct{ reading, event string }{
		{"50000", ""},
		{"96000", "temperature_warning"},
		{"97000", ""},
		{"106000", "temperature_critical"},
		{"x", ""}, // Not readable this time: nothing is known, nothing is forgotten.
		{"107000", ""},
		{"96000", "temperature_warning"},
		{"50000", "temperature_normal"},
		{"50000", ""},
	} {
		chip(host, 3, "nvme", "", step.reading)
		chip(host, 4, "k10temp", "", "40000")
		report, err := host.Check(boardTemperature{})
		if err != nil {
			t.Fatal(err)
		}
		if event := nameOf(report.Events); event != step.event || len(report.Events) > 1 {
			t.Errorf("step %d: event %q, not %q", i, event, step.event)
		}
	}
}

func TestNamesAndMetrics(t *testing.T) {
	host := gpudtest.New(t)
	chip(host, 10, "nvme", "", "30000")
	chip(host, 2, "nvme", "", "20000")
	chip(host, 3, "two\nlines", "", "25000")
	host.Files["/sys/class/hwmon/hwmon2/temp2_input"] = "21000\n"
	host.Files["/sys/class/hwmon/hwmon2/temp2_label"] = "temp1\n"
	host.Errors["/sys/class/hwmon/hwmon2/temp3_input"] = gpud.ErrTimedOut
	report, err := host.Check(boardTemperature{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, sample := range report.Metrics {
		found[sample.Labels[0].Value+"/"+sample.Labels[1].Value] = sample.Value
	}
	want := map[string]float64{"nvme/temp1": 20, "nvme/temp1 (temp2)": 21, "unknown/temp1": 25, "nvme.2/temp1": 30}
	if fmt.Sprint(found) != fmt.Sprint(want) {
		t.Errorf("%v, not %v", found, want)
	}
	if info := report.States[0].ExtraInfo; len(info) != 1 || info[0].Value != "1 of 5" {
		t.Errorf("%v", info)
	}
}

func TestTrouble(t *testing.T) {
	host := gpudtest.New(t)
	report, err := host.Check(boardTemperature{})
	if err != nil || !report.Unsupported || report.States[0].Reason != "no temperature sensor on this machine" {
		t.Errorf("%v %v", report, err)
	}
	host.Denied["sysfs"] = true
	if _, err := host.Check(boardTemperature{}); !errors.Is(err, gpud.ErrDenied) {
		t.Errorf("%v", err)
	}
	for _, config := range []string{"", "[]", `{"warn": 200}`, `{"sensors": {"a/b": {"critical": 1}}}`} {
		host.Config = config
		var source *gpud.AccessError
		if _, err := host.Check(boardTemperature{}); err == nil || errors.As(err, &source) {
			t.Errorf("%s: %v", config, err)
		}
	}
	if !json.Valid([]byte(schema)) {
		t.Error("the schema is not JSON")
	}
}

// FuzzFiles: whatever is in the files, the checker ends well, and its values are finite.
func FuzzFiles(f *testing.F) {
	f.Add("nvme", "45500", "Composite")
	f.Add("\xff\x00", "-9223372036854775809", "\n\n")
	f.Fuzz(func(t *testing.T, name, reading, label string) {
		host := gpudtest.New(t)
		chip(host, 1, name, label, reading)
		chip(host, 2, name, "", label)
		report, err := host.Check(boardTemperature{})
		if err != nil {
			t.Fatal(err)
		}
		for _, sample := range report.Metrics {
			if math.IsNaN(sample.Value) || math.IsInf(sample.Value, 0) {
				t.Errorf("%v", sample)
			}
		}
	})
}
