//go:build wasip1

package convert

import (
	"gpud.internal/gpud"
	"gpud.internal/gpud/internal/wit/gpud_plugin_checker"
	"gpud.internal/gpud/internal/witrt"
)

// Descriptor for the host.
func Descriptor(from *gpud.Descriptor) gpud_plugin_checker.Descriptor {
	out := gpud_plugin_checker.Descriptor{Version: valid(from.Version)}
	for _, component := range from.Components {
		out.Components = append(out.Components, descriptorOf(component))
	}
	return out
}

func descriptorOf(from gpud.Component) gpud_plugin_checker.ComponentDescriptor {
	out := gpud_plugin_checker.ComponentDescriptor{
		Name:         valid(from.Name),
		Description:  valid(from.Description),
		Tags:         []string{valid(from.Name)},
		IntervalMs:   witrt.None[uint64](),
		RunMode:      gpud_plugin_checker.MakeRunModeAuto(),
		SetHealthy:   gpud_plugin_checker.MakeSetHealthyModeUnsupported(),
		ConfigSchema: optional(from.ConfigSchema),
	}
	if len(from.Tags) > 0 {
		out.Tags = from.Tags
	}
	if from.Interval > 0 {
		out.IntervalMs = witrt.Some(uint64(from.Interval.Milliseconds()))
	}
	if from.RunMode == gpud.Manual {
		out.RunMode = gpud_plugin_checker.MakeRunModeManual()
	}
	switch from.SetHealthy {
	case gpud.SetHealthyClearsEvents:
		out.SetHealthy = gpud_plugin_checker.MakeSetHealthyModeClearsEvents()
	case gpud.SetHealthyMarks:
		out.SetHealthy = gpud_plugin_checker.MakeSetHealthyModeMarks()
	}
	for _, metric := range from.Metrics {
		out.Metrics = append(out.Metrics, gpud_plugin_checker.MetricDescription{
			Name: valid(metric.Name), Help: valid(metric.Help), Buckets: metric.Buckets})
	}
	return out
}
