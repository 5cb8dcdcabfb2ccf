// Command {{name}} is a gpud checker: memory that runs short. This file asks; judge.go decides.
package main

import (
	"encoding/json"
	"fmt"

	"gpud.internal/gpud"
	"gpud.internal/gpud/config"
	"gpud.internal/gpud/export/checker"
	"gpud.internal/gpud/sysfs"
)

// maxBytes of /proc/meminfo.
const maxBytes = 65_536

type memoryCheck struct{}

// Check implements gpud.Checker.
func (memoryCheck) Check(ctx *gpud.Context) (*gpud.Report, error) {
	settings := settings{MinAvailablePercent: 5}
	if err := json.Unmarshal([]byte(config.Document()), &settings); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	meminfo, err := sysfs.ReadString("/proc/meminfo", maxBytes)
	if err != nil {
		return nil, err // becomes a state that says which source did not answer
	}
	return judge(ctx, settings, meminfo), nil
}

func init() {
	descriptor := gpud.NewDescriptor("0.1.0", "{{name}}", "Memory that runs short")
	component := &descriptor.Components[0]
	component.Tags = []string{"memory"}
	component.Metrics = []gpud.MetricDescription{{Name: metric, Help: "Memory that programs can still get"}}
	component.ConfigSchema = schema
	checker.Export(memoryCheck{}, descriptor)
	warmUp()
}

// warmUp makes what encoding/json and fmt build on their first use part of the snapshot that every call starts from.
func warmUp() {
	settings := settings{}
	if err := json.Unmarshal([]byte(`{"min_available_percent": 10}`), &settings); err != nil {
		panic(err)
	}
	judge(&gpud.Context{}, settings, "MemTotal: 2 kB\nMemAvailable: 1 kB\n")
}

func main() {}
