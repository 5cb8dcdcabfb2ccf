package main

import (
	"fmt"
	"strconv"
	"strings"

	"gpud.internal/gpud"
	"gpud.internal/gpud/sysfs"
)

const metric = "fan_rpm"

// schema is what an operator can configure, as JSON schema. gpud refuses what does not fit.
const schema = `{"type": "object", "additionalProperties": false, "properties": {
  "min_rpm": {"type": "integer", "minimum": 0}}}`

// settings are the configuration.
type settings struct {
	// MinRPM: a fan below this is too slow, revolutions per minute.
	MinRPM uint64 `json:"min_rpm"`
}

// speed is the number in a file of hwmon.
func speed(file sysfs.File) (uint64, error) {
	if file.Err != nil {
		return 0, file.Err
	}
	return strconv.ParseUint(file.Text(), 10, 32)
}

// judge is the verdict over the files of fans.
func judge(ctx *gpud.Context, settings settings, fans []sysfs.File) *gpud.Report {
	if len(fans) == 0 {
		// gpud.UnsupportedReport would hide the component here.
		return gpud.ReportOf(gpud.HealthyState(ctx, "this machine shows no fans"))
	}
	report := gpud.ReportOf()
	var slow []string
	for _, fan := range fans {
		rpm, err := speed(fan)
		if err != nil {
			continue
		}
		report.AddGauge(metric, float64(rpm), "fan", fan.Path)
		if rpm < settings.MinRPM {
			slow = append(slow, fmt.Sprintf("%s at %d rpm", fan.Path, rpm))
		}
	}
	switch known := len(report.Metrics); {
	case len(slow) > 0:
		reason := fmt.Sprintf("%d of %d fans are too slow: %s", len(slow), len(fans), strings.Join(slow[:min(8, len(slow))], ", "))
		state := gpud.DegradedState(ctx, reason).WithAction(gpud.HardwareInspection, "look at these fans")
		report.States = append(report.States, state)
	case known == 0:
		report.States = append(report.States, gpud.DegradedState(ctx, "no fan can be read"))
	default:
		report.States = append(report.States, gpud.HealthyState(ctx, fmt.Sprintf("%d fans turn", known)))
	}
	return report
}
