//go:build wasip1

package convert

import (
	"math"
	"strings"

	"gpud.internal/gpud"
	"gpud.internal/gpud/internal/wit/gpud_plugin_types"
	"gpud.internal/gpud/internal/witrt"
)

// utf8 makes text that the host takes.
func utf8(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func optional(text string) witrt.Option[string] {
	if text == "" {
		return witrt.None[string]()
	}
	return witrt.Some(utf8(text))
}

// Pairs for the host.
func Pairs(from []gpud.Pair) []witrt.Tuple2[string, string] {
	if len(from) == 0 {
		return nil
	}
	out := make([]witrt.Tuple2[string, string], len(from))
	for i, pair := range from {
		out[i] = witrt.Tuple2[string, string]{F0: utf8(pair.Key), F1: utf8(pair.Value)}
	}
	return out
}

// PairsFrom the host.
func PairsFrom(from []witrt.Tuple2[string, string]) []gpud.Pair {
	if len(from) == 0 {
		return nil
	}
	out := make([]gpud.Pair, len(from))
	for i, pair := range from {
		out[i] = gpud.Pair{Key: pair.F0, Value: pair.F1}
	}
	return out
}

// Report for the host.
func Report(from *gpud.Report) gpud_plugin_types.Report {
	out := gpud_plugin_types.Report{Supported: !from.Unsupported, Events: Events(from.Events)}
	for _, state := range from.States {
		if state != nil {
			out.States = append(out.States, healthState(state))
		}
	}
	for _, metric := range from.Metrics {
		// The host refuses a report with a value that is not finite.
		if math.IsNaN(metric.Value) || math.IsInf(metric.Value, 0) {
			continue
		}
		out.Metrics = append(out.Metrics, gpud_plugin_types.Metric{
			Name: utf8(metric.Name), Labels: Pairs(metric.Labels), Value: metric.Value, Kind: metricKind(metric.Kind)})
	}
	return out
}

func healthState(from *gpud.State) gpud_plugin_types.HealthState {
	out := gpud_plugin_types.HealthState{
		Name:             optional(from.Name),
		Time:             optionalTime(from.Time),
		Health:           health(from.Health),
		Reason:           utf8(from.Reason),
		Error:            optional(from.Error),
		SuggestedActions: witrt.None[gpud_plugin_types.SuggestedActions](),
		Subject:          subject(from.Subject),
		Latch:            from.Latch,
		Evidence:         evidence(from.Evidence),
		ExtraInfo:        Pairs(from.ExtraInfo),
	}
	for _, way := range from.Recovery {
		out.Recovery = append(out.Recovery, recovery(way))
	}
	if from.SuggestedActions != nil {
		actions := gpud_plugin_types.SuggestedActions{Description: utf8(from.SuggestedActions.Description)}
		for _, action := range from.SuggestedActions.RepairActions {
			actions.RepairActions = append(actions.RepairActions, repairAction(action))
		}
		out.SuggestedActions = witrt.Some(actions)
	}
	return out
}

func health(from gpud.Health) gpud_plugin_types.Health {
	switch from {
	case gpud.Healthy:
		return gpud_plugin_types.MakeHealthHealthy()
	case gpud.Degraded:
		return gpud_plugin_types.MakeHealthDegraded()
	case gpud.Unhealthy:
		return gpud_plugin_types.MakeHealthUnhealthy()
	case gpud.Initializing:
		return gpud_plugin_types.MakeHealthInitializing()
	}
	return gpud_plugin_types.MakeHealthOther(utf8(string(from)))
}

func repairAction(from gpud.RepairAction) gpud_plugin_types.RepairAction {
	switch from {
	case gpud.IgnoreNoActionRequired:
		return gpud_plugin_types.MakeRepairActionIgnoreNoActionRequired()
	case gpud.RebootSystem:
		return gpud_plugin_types.MakeRepairActionRebootSystem()
	case gpud.HardwareInspection:
		return gpud_plugin_types.MakeRepairActionHardwareInspection()
	case gpud.CheckUserAppAndGPU:
		return gpud_plugin_types.MakeRepairActionCheckUserAppAndGpu()
	}
	return gpud_plugin_types.MakeRepairActionOther(utf8(string(from)))
}

func recovery(from gpud.Recovery) gpud_plugin_types.Recovery {
	switch from.Word() {
	case gpud.NextGoodReading.Word():
		return gpud_plugin_types.MakeRecoveryNextGoodReading()
	case gpud.Reboot.Word():
		return gpud_plugin_types.MakeRecoveryReboot()
	case gpud.SetHealthy.Word():
		return gpud_plugin_types.MakeRecoverySetHealthy()
	case "at":
		return gpud_plugin_types.MakeRecoveryAt(Millis(from.Moment()))
	}
	return gpud_plugin_types.MakeRecoveryOther(utf8(from.Word()))
}

func subject(from gpud.Subject) witrt.Option[gpud_plugin_types.Subject] {
	var out gpud_plugin_types.Subject
	switch from := from.(type) {
	case gpud.Node:
		out = gpud_plugin_types.MakeSubjectNode()
	case gpud.GPU:
		out = gpud_plugin_types.MakeSubjectGpu(gpud_plugin_types.GpuId{
			Uuid: optional(from.UUID), Serial: optional(from.Serial), PciId: optional(from.PCIID)})
	case gpud.Port:
		out = gpud_plugin_types.MakeSubjectPort(gpud_plugin_types.PortId{Device: utf8(from.Device), Port: from.Port})
	case gpud.Mount:
		out = gpud_plugin_types.MakeSubjectMount(utf8(string(from)))
	case gpud.Unit:
		out = gpud_plugin_types.MakeSubjectUnit(utf8(string(from)))
	case gpud.OtherSubject:
		out = gpud_plugin_types.MakeSubjectOther(witrt.Tuple2[string, string]{F0: utf8(from.Kind), F1: utf8(from.Which)})
	default:
		return witrt.None[gpud_plugin_types.Subject]()
	}
	return witrt.Some(out)
}

func evidence(from []gpud.Evidence) []gpud_plugin_types.Evidence {
	var out []gpud_plugin_types.Evidence
	for _, one := range from {
		switch one := one.(type) {
		case gpud.KmsgRecord:
			out = append(out, gpud_plugin_types.MakeEvidenceKmsg(uint64(one)))
		case gpud.File:
			out = append(out, gpud_plugin_types.MakeEvidenceFile(utf8(string(one))))
		case gpud.NVMLReading:
			out = append(out, gpud_plugin_types.MakeEvidenceNvml(utf8(string(one))))
		case gpud.OtherEvidence:
			out = append(out, gpud_plugin_types.MakeEvidenceOther(utf8(string(one))))
		}
	}
	return out
}

// Events for the host.
func Events(from []*gpud.Event) []gpud_plugin_types.Event {
	var out []gpud_plugin_types.Event
	for _, event := range from {
		if event == nil {
			continue
		}
		merge := witrt.None[gpud_plugin_types.MergeRule]()
		if event.Merge != nil {
			merge = witrt.Some(gpud_plugin_types.MergeRule{
				Key: utf8(event.Merge.Key), WindowSeconds: event.Merge.WindowSeconds})
		}
		out = append(out, gpud_plugin_types.Event{
			Time:      Millis(event.Time),
			Name:      utf8(event.Name),
			EventType: eventType(event.Type),
			Message:   utf8(event.Message),
			Subject:   subject(event.Subject),
			Evidence:  evidence(event.Evidence),
			ExtraInfo: Pairs(event.ExtraInfo),
			Merge:     merge,
		})
	}
	return out
}

func eventType(from gpud.EventType) gpud_plugin_types.EventType {
	switch from {
	case gpud.Unknown:
		return gpud_plugin_types.MakeEventTypeUnknown()
	case gpud.Info:
		return gpud_plugin_types.MakeEventTypeInfo()
	case gpud.Warning:
		return gpud_plugin_types.MakeEventTypeWarning()
	case gpud.Critical:
		return gpud_plugin_types.MakeEventTypeCritical()
	case gpud.Fatal:
		return gpud_plugin_types.MakeEventTypeFatal()
	}
	return gpud_plugin_types.MakeEventTypeOther(utf8(string(from)))
}

func metricKind(from gpud.MetricKind) gpud_plugin_types.MetricKind {
	switch from {
	case gpud.Gauge, "":
		return gpud_plugin_types.MakeMetricKindGauge()
	case gpud.Counter:
		return gpud_plugin_types.MakeMetricKindCounter()
	case gpud.Histogram:
		return gpud_plugin_types.MakeMetricKindHistogram()
	}
	return gpud_plugin_types.MakeMetricKindOther(utf8(string(from)))
}
