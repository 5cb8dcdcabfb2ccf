//go:build wasip1

package convert

import (
	"math"
	"strings"
	"unicode/utf8"

	"gpud.internal/gpud"
	"gpud.internal/gpud/internal/wit/gpud_plugin_types"
	"gpud.internal/gpud/internal/witrt"
)

// valid makes text that the host takes.
func valid(text string) string {
	if utf8.ValidString(text) { // eight bytes at a time, unlike ToValidUTF8
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

func optional(text string) witrt.Option[string] {
	if text == "" {
		return witrt.None[string]()
	}
	return witrt.Some(valid(text))
}

// pair for the host.
type pair = witrt.Tuple2[string, string]

// Pairs for the host.
func Pairs(from []gpud.Pair) []pair {
	if len(from) == 0 {
		return nil
	}
	return appendPairs(make([]pair, 0, len(from)), from)
}

func appendPairs(to []pair, from []gpud.Pair) []pair {
	for _, one := range from {
		to = append(to, pair{F0: valid(one.Key), F1: valid(one.Value)})
	}
	return to
}

// PairsFrom the host.
func PairsFrom(from []pair) []gpud.Pair {
	if len(from) == 0 {
		return nil
	}
	out := make([]gpud.Pair, len(from))
	for i, one := range from {
		out[i] = gpud.Pair{Key: one.F0, Value: one.F1}
	}
	return out
}

// Report for the host.
func Report(from *gpud.Report) gpud_plugin_types.Report {
	out := gpud_plugin_types.Report{
		Supported: !from.Unsupported,
		States:    make([]gpud_plugin_types.HealthState, 0, len(from.States)),
		Events:    Events(from.Events),
		Metrics:   make([]gpud_plugin_types.Metric, 0, len(from.Metrics)),
	}
	for _, state := range from.States {
		if state != nil {
			out.States = append(out.States, healthState(state))
		}
	}
	count := 0
	for i := range from.Metrics {
		count += len(from.Metrics[i].Labels)
	}
	labels := make([]pair, 0, count) // of all metrics, one behind the other
	for i := range from.Metrics {
		metric := &from.Metrics[i]
		// The host refuses a report with a value that is not finite.
		if math.IsNaN(metric.Value) || math.IsInf(metric.Value, 0) {
			continue
		}
		labels = appendPairs(labels[len(labels):], metric.Labels)
		out.Metrics = append(out.Metrics, gpud_plugin_types.Metric{
			Name: valid(metric.Name), Labels: labels, Value: metric.Value, Kind: metricKind(metric.Kind)})
	}
	return out
}

func healthState(from *gpud.State) gpud_plugin_types.HealthState {
	out := gpud_plugin_types.HealthState{
		Name:             optional(from.Name),
		Time:             optionalTime(from.Time),
		Health:           health(from.Health),
		Reason:           valid(from.Reason),
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
		actions := gpud_plugin_types.SuggestedActions{Description: valid(from.SuggestedActions.Description)}
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
	return gpud_plugin_types.MakeHealthOther(valid(string(from)))
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
	return gpud_plugin_types.MakeRepairActionOther(valid(string(from)))
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
	return gpud_plugin_types.MakeRecoveryOther(valid(from.Word()))
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
		out = gpud_plugin_types.MakeSubjectPort(gpud_plugin_types.PortId{Device: valid(from.Device), Port: from.Port})
	case gpud.Mount:
		out = gpud_plugin_types.MakeSubjectMount(valid(string(from)))
	case gpud.Unit:
		out = gpud_plugin_types.MakeSubjectUnit(valid(string(from)))
	case gpud.OtherSubject:
		out = gpud_plugin_types.MakeSubjectOther(witrt.Tuple2[string, string]{F0: valid(from.Kind), F1: valid(from.Which)})
	default:
		return witrt.None[gpud_plugin_types.Subject]()
	}
	return witrt.Some(out)
}

func evidence(from []gpud.Evidence) []gpud_plugin_types.Evidence {
	out := make([]gpud_plugin_types.Evidence, 0, len(from))
	for _, one := range from {
		switch one := one.(type) {
		case gpud.KmsgRecord:
			out = append(out, gpud_plugin_types.MakeEvidenceKmsg(uint64(one)))
		case gpud.File:
			out = append(out, gpud_plugin_types.MakeEvidenceFile(valid(string(one))))
		case gpud.NVMLReading:
			out = append(out, gpud_plugin_types.MakeEvidenceNvml(valid(string(one))))
		case gpud.OtherEvidence:
			out = append(out, gpud_plugin_types.MakeEvidenceOther(valid(string(one))))
		}
	}
	return out
}

// Events for the host.
func Events(from []*gpud.Event) []gpud_plugin_types.Event {
	out := make([]gpud_plugin_types.Event, 0, len(from))
	for _, event := range from {
		if event == nil {
			continue
		}
		merge := witrt.None[gpud_plugin_types.MergeRule]()
		if event.Merge != nil {
			merge = witrt.Some(gpud_plugin_types.MergeRule{
				Key: valid(event.Merge.Key), WindowSeconds: event.Merge.WindowSeconds})
		}
		out = append(out, gpud_plugin_types.Event{
			Time:      Millis(event.Time),
			Name:      valid(event.Name),
			EventType: eventType(event.Type),
			Message:   valid(event.Message),
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
	return gpud_plugin_types.MakeEventTypeOther(valid(string(from)))
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
	return gpud_plugin_types.MakeMetricKindOther(valid(string(from)))
}
