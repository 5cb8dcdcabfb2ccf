// Command {{name}} is a gpud checker.
package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"gpud.internal/gpud"
	"gpud.internal/gpud/config"
	"gpud.internal/gpud/export/checker"
	"gpud.internal/gpud/sysfs"
)

const schema = `{"type": "object", "additionalProperties": false, "properties": {
  "max_load": {"type": "number", "description": "Degraded from this load average of one minute on; 100 by default"}}}`

type check struct{}

// Check asks; judge decides.
func (check) Check(ctx *gpud.Context) (*gpud.Report, error) {
	settings := struct {
		MaxLoad float64 `json:"max_load"`
	}{MaxLoad: 100}
	if err := json.Unmarshal([]byte(config.Document()), &settings); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	text, err := sysfs.ReadString("/proc/loadavg", 256)
	if err != nil {
		return nil, err // gpud says honestly which file did not answer
	}
	return judge(ctx, text, settings.MaxLoad)
}

// judge is the decision, from plain values.
func judge(ctx *gpud.Context, text string, maxLoad float64) (*gpud.Report, error) {
	first, _, _ := strings.Cut(text, " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return nil, fmt.Errorf("/proc/loadavg: %w", err)
	}
	state := gpud.HealthyState(ctx, fmt.Sprintf("load average is %.2f", load))
	if load >= maxLoad {
		state = gpud.DegradedState(ctx, fmt.Sprintf("load average is %.2f, limit is %.2f", load, maxLoad))
	}
	return gpud.ReportOf(state).AddGauge("load_average_one_minute", load), nil
}

func init() {
	descriptor := gpud.NewDescriptor("0.1.0", "{{name}}", "Load average against a limit")
	descriptor.Components[0].ConfigSchema = schema
	checker.Export(check{}, descriptor)
}

func main() {}
