//go:build !wasip1

package gpudtest

import "gpud.internal/gpud/nvml"

// GPU is one GPU by its readings. What is nil answers gpud.ErrNotSupported.
type GPU struct {
	// Identity of the GPU; Host.Errors by its UUID are those of a GPU that answers nothing.
	Identity nvml.Identity
	// Errors by the name of the method of nvml.Device, for example "Temperature".
	Errors map[string]error

	// MemoryInfo answers the method of this name, as all fields do unless they say otherwise.
	MemoryInfo *nvml.MemoryInfo
	// Utilization of the GPU.
	Utilization *nvml.Utilization
	// Clocks answer ClockMHz.
	Clocks map[nvml.Clock]uint32
	// ClockEventReasons of the GPU.
	ClockEventReasons *uint64
	// Power of the GPU.
	Power *nvml.Power
	// PersistenceMode of the GPU.
	PersistenceMode *bool
	// Temperatures answer Temperature.
	Temperatures map[nvml.TemperatureSensor]uint32
	// TemperatureThresholds answer TemperatureThreshold.
	TemperatureThresholds map[nvml.TemperatureThreshold]uint32
	// TemperatureMargin of the GPU.
	TemperatureMargin *int32
	// ECCMode of the GPU.
	ECCMode *nvml.ECCMode
	// ECCTotal of the GPU.
	ECCTotal func(kind nvml.ECCError, period nvml.ECCPeriod) (uint64, error)
	// ECCCount of the GPU.
	ECCCount func(kind nvml.ECCError, period nvml.ECCPeriod, location nvml.MemoryLocation) (uint64, error)
	// RemappedRows of the GPU.
	RemappedRows *nvml.RemappedRows
	// RowHistogram of the GPU.
	RowHistogram *nvml.RowHistogram
	// SRAMECCStatus of the GPU.
	SRAMECCStatus *nvml.SRAMECCStatus
	// NVLinks answer NVLinkActive and NVLinkErrors as well.
	NVLinks []nvml.NVLink
	// NVLinkP2PStatus by the UUID of the other GPU.
	NVLinkP2PStatus map[string]uint32
	// FabricInfo of the GPU.
	FabricInfo *nvml.FabricInfo
	// ComputeProcesses of the GPU.
	ComputeProcesses []nvml.ComputeProcess
	// ProcessUtilization of the GPU.
	ProcessUtilization []nvml.ProcessUtilization
	// GPM answers GPMMetrics and GPMMetricsOfAll, by metric id.
	GPM map[uint32]float64
	// MIGEnabled of the GPU.
	MIGEnabled *bool
	// MIGDevices of the GPU.
	MIGDevices []nvml.MIGDevice
	// PCIeLink of the GPU.
	PCIeLink *nvml.PCIeLink
	// FieldValue of the GPU.
	FieldValue func(field, scope uint32) (float64, error)
}
