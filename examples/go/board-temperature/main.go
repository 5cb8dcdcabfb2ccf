// Command board-temperature is a checker: temperatures of boards and devices against limits of the operator. This file
// asks; judge.go decides.
package main

import (
	"encoding/json"
	"slices"

	"gpud.internal/gpud"
	"gpud.internal/gpud/config"
	"gpud.internal/gpud/export/checker"
	"gpud.internal/gpud/state"
	"gpud.internal/gpud/sysfs"
)

const (
	hwmon = "/sys/class/hwmon/hwmon*/"
	// maxFile is the longest content of a sensor's file, in bytes.
	maxFile = 256
	// maxFiles is the most sensors.
	maxFiles = 1024
	// hotKey is where sensors that were too hot at the last check are kept.
	hotKey = "hot"
)

type boardTemperature struct{}

// Check implements gpud.Checker.
func (boardTemperature) Check(ctx *gpud.Context) (*gpud.Report, error) {
	var configured settings
	if err := config.Decode(&configured); err != nil {
		return nil, err
	}
	if err := configured.complete(); err != nil {
		return nil, err
	}
	inputs, err := sysfs.ReadGlob(hwmon+"temp*_input", maxFile, maxFiles)
	if err != nil {
		return nil, err
	}
	labels, err := sysfs.ReadGlob(hwmon+"temp*_label", maxFile, maxFiles)
	if err != nil {
		return nil, err
	}
	names, err := sysfs.ReadGlob(hwmon+"name", maxFile, maxFiles)
	if err != nil {
		return nil, err
	}
	saved, err := state.Get(hotKey)
	if err != nil {
		return nil, err
	}
	report, hot := judge(ctx, &configured, sensors(inputs, labels, names), restore(saved))
	if text := hot.save(); !slices.Equal(text, saved) {
		if err := state.Set(hotKey, text); err != nil {
			return nil, err
		}
	}
	return report, nil
}

func init() {
	descriptor := gpud.NewDescriptor("0.1.0", "board-temperature", "Temperatures of boards and devices against limits")
	descriptor.Components[0].ConfigSchema = schema
	descriptor.Components[0].Metrics = []gpud.MetricDescription{
		{Name: metric, Help: "Temperature by chip and sensor (degrees Celsius)"},
	}
	checker.Export(boardTemperature{}, descriptor)
	warmUp()
}

// warmUp judges made-up readings. Initialisation runs when the component is built, and every call begins where it
// ended: with the tables that encoding/json builds on its first use.
func warmUp() {
	var configured settings
	document := `{"warn": 80, "critical": 90, "sensors": {"nvme/temp1": {"warn": 70}}}`
	if err := json.Unmarshal([]byte(document), &configured); err != nil {
		panic(err)
	}
	if err := configured.complete(); err != nil {
		panic(err)
	}
	names := []sysfs.File{{Path: "/sys/class/hwmon/hwmon0/name", Content: []byte("nvme\n")}}
	inputs := []sysfs.File{{Path: "/sys/class/hwmon/hwmon0/temp1_input", Content: []byte("85500\n")}}
	_, hot := judge(&gpud.Context{}, &configured, sensors(inputs, nil, names), restore(nil))
	hot.save()
}

func main() {}
