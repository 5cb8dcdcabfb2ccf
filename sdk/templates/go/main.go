// Command {{name}} is a gpud checker: fans that turn slower than they should. This file asks; judge.go decides.
package main

import (
	"encoding/json"
	"fmt"

	"gpud.internal/gpud"
	"gpud.internal/gpud/config"
	"gpud.internal/gpud/export/checker"
	"gpud.internal/gpud/sysfs"
)

const (
	// maxFans of one machine.
	maxFans = 256
	// maxBytes of one number.
	maxBytes = 64
)

type fanCheck struct{}

// Check implements gpud.Checker.
func (fanCheck) Check(ctx *gpud.Context) (*gpud.Report, error) {
	settings := settings{MinRPM: 300}
	if err := json.Unmarshal([]byte(config.Document()), &settings); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	fans, err := sysfs.ReadGlob("/sys/class/hwmon/hwmon*/fan*_input", maxBytes, maxFans)
	if err != nil {
		return nil, err // becomes a state that says which source did not answer
	}
	return judge(ctx, settings, fans), nil
}

func init() {
	descriptor := gpud.NewDescriptor("0.1.0", "{{name}}", "Fans that turn slower than they should")
	component := &descriptor.Components[0]
	component.Tags = []string{"fans"}
	component.Metrics = []gpud.MetricDescription{{Name: metric, Help: "Speed of a fan, revolutions per minute"}}
	component.ConfigSchema = schema
	checker.Export(fanCheck{}, descriptor)
	warmUp()
}

// warmUp makes what encoding/json and fmt build on their first use part of the snapshot that every call starts from.
func warmUp() {
	settings := settings{}
	if err := json.Unmarshal([]byte(`{"min_rpm": 1000}`), &settings); err != nil {
		panic(err)
	}
	judge(&gpud.Context{}, settings, []sysfs.File{{Path: "fan1_input", Content: []byte("900\n")}})
}

func main() {}
