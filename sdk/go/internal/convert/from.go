//go:build wasip1

package convert

import (
	"gpud.internal/gpud"
	"gpud.internal/gpud/internal/wit/gpud_plugin_kmsg"
	"gpud.internal/gpud/internal/wit/gpud_plugin_types"
	"gpud.internal/gpud/internal/witrt"
)

// Context from the host.
func Context(from gpud_plugin_types.CheckContext) *gpud.Context {
	out := &gpud.Context{
		Component: from.Component,
		Now:       Time(from.Now),
		Trigger:   trigger(from.Trigger),
		BootID:    from.BootId,
		BootTime:  Time(from.BootTime),
	}
	if from.PreviousCheck.Tag() == witrt.OptionSome {
		out.PreviousCheck = Time(from.PreviousCheck.Some())
	}
	return out
}

func trigger(from gpud_plugin_types.Trigger) gpud.Trigger {
	switch from.Tag() {
	case gpud_plugin_types.Trigger_Startup:
		return gpud.TriggerStartup
	case gpud_plugin_types.Trigger_Scheduled:
		return gpud.TriggerScheduled
	case gpud_plugin_types.Trigger_Manual:
		return gpud.TriggerManual
	case gpud_plugin_types.Trigger_Event:
		return gpud.TriggerEvent
	case gpud_plugin_types.Trigger_SetHealthy:
		return gpud.TriggerSetHealthy
	}
	return gpud.Trigger(from.Other())
}

// Messages from the host.
func Messages(from []gpud_plugin_kmsg.Message) []gpud.Message {
	out := make([]gpud.Message, len(from))
	for i, message := range from {
		out[i] = gpud.Message{
			Sequence: message.Sequence,
			Time:     Time(message.Time),
			Level:    message.Level,
			Facility: message.Facility,
			Text:     message.Text,
		}
		if message.Dictionary.Tag() == witrt.OptionSome {
			out[i].Dictionary = PairsFrom(message.Dictionary.Some())
		}
	}
	return out
}

// Event from the host's store.
func Event(from gpud_plugin_types.Event) gpud.Event {
	out := gpud.Event{
		Time:      Time(from.Time),
		Name:      from.Name,
		Message:   from.Message,
		ExtraInfo: PairsFrom(from.ExtraInfo),
	}
	switch from.EventType.Tag() {
	case gpud_plugin_types.EventType_Unknown:
		out.Type = gpud.Unknown
	case gpud_plugin_types.EventType_Info:
		out.Type = gpud.Info
	case gpud_plugin_types.EventType_Warning:
		out.Type = gpud.Warning
	case gpud_plugin_types.EventType_Critical:
		out.Type = gpud.Critical
	case gpud_plugin_types.EventType_Fatal:
		out.Type = gpud.Fatal
	default:
		out.Type = gpud.EventType(from.EventType.Other())
	}
	if from.Subject.Tag() == witrt.OptionSome {
		out.Subject = subjectFrom(from.Subject.Some())
	}
	for _, one := range from.Evidence {
		out.Evidence = append(out.Evidence, evidenceFrom(one))
	}
	return out
}

func orEmpty(from witrt.Option[string]) string { return from.Some() }

func subjectFrom(from gpud_plugin_types.Subject) gpud.Subject {
	switch from.Tag() {
	case gpud_plugin_types.Subject_Node:
		return gpud.Node{}
	case gpud_plugin_types.Subject_Gpu:
		id := from.Gpu()
		return gpud.GPU{UUID: orEmpty(id.Uuid), Serial: orEmpty(id.Serial), PCIID: orEmpty(id.PciId)}
	case gpud_plugin_types.Subject_Port:
		return gpud.Port{Device: from.Port().Device, Port: from.Port().Port}
	case gpud_plugin_types.Subject_Mount:
		return gpud.Mount(from.Mount())
	case gpud_plugin_types.Subject_Unit:
		return gpud.Unit(from.Unit())
	}
	return gpud.OtherSubject{Kind: from.Other().F0, Which: from.Other().F1}
}

func evidenceFrom(from gpud_plugin_types.Evidence) gpud.Evidence {
	switch from.Tag() {
	case gpud_plugin_types.Evidence_Kmsg:
		return gpud.KmsgRecord(from.Kmsg())
	case gpud_plugin_types.Evidence_File:
		return gpud.File(from.File())
	case gpud_plugin_types.Evidence_Nvml:
		return gpud.NVMLReading(from.Nvml())
	}
	return gpud.OtherEvidence(from.Other())
}
