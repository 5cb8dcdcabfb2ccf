package nvml

import (
	"gpud.internal/gpud/internal/convert"
	wit "gpud.internal/gpud/internal/wit/gpud_plugin_nvml"
	"gpud.internal/gpud/internal/witrt"
)

func optional[T any](from witrt.Option[T]) *T {
	if from.Tag() != witrt.OptionSome {
		return nil
	}
	value := from.Some()
	return &value
}

func identity(from wit.Identity) Identity {
	return Identity{
		Index: from.Index, UUID: from.Uuid, Name: from.Name, BusID: from.BusId, Brand: from.Brand,
		ComputeCapability: [2]uint32{from.ComputeCapability.F0, from.ComputeCapability.F1},
		Serial:            from.Serial.Some(),
		MinorNumber:       optional(from.MinorNumber),
		BoardID:           optional(from.BoardId),
		Extra:             convert.PairsFrom(from.Extra),
	}
}

func nvlinkErrors(from wit.NvlinkErrors) NVLinkErrors {
	return NVLinkErrors{Replay: from.Replay, Recovery: from.Recovery, CRC: from.Crc}
}

func nvlink(from wit.Nvlink) NVLink {
	out := NVLink{Link: from.Link, Active: from.Active}
	if from.Errors.Tag() == witrt.OptionSome {
		errors := nvlinkErrors(from.Errors.Some())
		out.Errors = &errors
	}
	return out
}

func fabricInfo(from wit.FabricInfo) FabricInfo {
	return FabricInfo{
		ClusterUUID: from.ClusterUuid, CliqueID: from.CliqueId, State: from.State, Status: from.Status,
		HealthMask: optional(from.HealthMask), HealthSummary: optional(from.HealthSummary),
	}
}

func computeProcess(from wit.ComputeProcess) ComputeProcess {
	return ComputeProcess{from.Pid, optional(from.UsedMemory), optional(from.SmUtilization)}
}

func processUtilization(from wit.ProcessUtilization) ProcessUtilization {
	return ProcessUtilization{
		PID: from.Pid, Time: convert.Time(from.Time), SM: from.Sm, Memory: from.Memory, Encoder: from.Encoder,
		Decoder: from.Decoder,
	}
}

func gpmMetric(from wit.GpmMetric) GPMMetric { return GPMMetric{ID: from.Id, Value: from.Value} }

func migDevice(from wit.MigDevice) MIGDevice {
	out := MIGDevice{
		Index: from.Index, UUID: from.Uuid, Name: from.Name, GPUInstance: optional(from.GpuInstance),
		ComputeInstance: optional(from.ComputeInstance), Multiprocessors: optional(from.Multiprocessors),
		Extra: convert.PairsFrom(from.Extra),
	}
	if from.Memory.Tag() == witrt.OptionSome {
		memory := MemoryInfo(from.Memory.Some())
		out.Memory = &memory
	}
	return out
}
