package nvml

import (
	"time"

	"gpud.internal/gpud"
)

// Identity is who a GPU is.
type Identity struct {
	// Index in NVML's order.
	Index uint32
	// UUID, "GPU-…".
	UUID string
	// Name of the product.
	Name string
	// BusID is the PCI id in lower case with a four-digit domain, "0000:0f:00.0".
	BusID string
	// Brand is NVML's number.
	Brand uint32
	// ComputeCapability of CUDA, major and minor.
	ComputeCapability [2]uint32
	// Serial number of the board; empty without one.
	Serial string
	// MinorNumber of the device node /dev/nvidia‹n›, or nil.
	MinorNumber *uint32
	// BoardID, or nil.
	BoardID *uint32
	// Extra are further facts, each only where the GPU has it: vbios, inforom-image, board-part-number, chassis-serial,
	// gsp-firmware (its version, while it runs), gsp-mode and gsp-default-mode (enabled or disabled).
	Extra []gpud.Pair
}

// Subject is the GPU as what a state or an event is about.
func (i Identity) Subject() gpud.GPU {
	return gpud.GPU{UUID: i.UUID, Serial: i.Serial, PCIID: i.BusID}
}

// MemoryInfo is the frame buffer, in bytes.
type MemoryInfo struct {
	// Total is all of it.
	Total uint64
	// Reserved by the driver; 0 where only version 1 of NVML's call works.
	Reserved uint64
	// Free of use.
	Free uint64
	// Used by somebody.
	Used uint64
}

// Utilization in per cent of the last sample period.
type Utilization struct {
	// GPU: a kernel was running.
	GPU uint32
	// Memory was being read or written.
	Memory uint32
}

// Power in milliwatts; nil where not supported.
type Power struct {
	// Usage is drawn now.
	Usage *uint32
	// EnforcedLimit is in force.
	EnforcedLimit *uint32
	// ManagementLimit was set by management.
	ManagementLimit *uint32
}

// ECCMode is whether ECC is on.
type ECCMode struct {
	// Current is now.
	Current bool
	// Pending is after the next reset.
	Pending bool
}

// RemappedRows counts broken rows of memory by their state.
type RemappedRows struct {
	// Correctable rows were remapped after corrected errors.
	Correctable uint32
	// Uncorrectable rows were remapped after uncorrectable errors.
	Uncorrectable uint32
	// Pending: a remapping waits for a reset.
	Pending bool
	// Failed: a remapping failed.
	Failed bool
}

// RowHistogram counts banks of memory by how many spare rows for remapping they have left.
type RowHistogram struct {
	// Max have all of them.
	Max uint32
	// High have many.
	High uint32
	// Partial have some.
	Partial uint32
	// Low have few.
	Low uint32
	// None have none.
	None uint32
}

// SRAMECCStatus counts errors of on-chip memory (SRAM).
type SRAMECCStatus struct {
	// AggregateUncorrectableParity counts parity errors over the life of the board.
	AggregateUncorrectableParity uint64
	// AggregateUncorrectableSECDED counts errors of the code that corrects one bit and detects two, over the life of the
	// board.
	AggregateUncorrectableSECDED uint64
	// AggregateCorrectable errors over the life of the board.
	AggregateCorrectable uint64
	// VolatileUncorrectableParity counts parity errors since the last reset.
	VolatileUncorrectableParity uint64
	// VolatileUncorrectableSECDED counts errors of that code since the last reset.
	VolatileUncorrectableSECDED uint64
	// VolatileCorrectable errors since the last reset.
	VolatileCorrectable uint64
	// AggregateUncorrectableL2 errors in the L2 cache over the life of the board.
	AggregateUncorrectableL2 uint64
	// AggregateUncorrectableSM errors in the streaming multiprocessors.
	AggregateUncorrectableSM uint64
	// AggregateUncorrectablePCIe errors in the PCIe unit.
	AggregateUncorrectablePCIe uint64
	// AggregateUncorrectableMicrocontroller errors in microcontrollers.
	AggregateUncorrectableMicrocontroller uint64
	// AggregateUncorrectableOther errors in other units.
	AggregateUncorrectableOther uint64
	// ThresholdExceeded: the errors passed the driver's threshold: NVIDIA's criterion for having the board looked at.
	ThresholdExceeded bool
}

// NVLinkErrors are the error counters of one NVLink.
type NVLinkErrors struct {
	// Replay counts replays.
	Replay uint64
	// Recovery counts recoveries.
	Recovery uint64
	// CRC counts CRC errors of flow-control digits.
	CRC uint64
}

// NVLink is one NVLink.
type NVLink struct {
	// Link is its number, from 0.
	Link uint32
	// Active: it is up.
	Active bool
	// Errors are 0 for a counter that cannot be read, nil when none can.
	Errors *NVLinkErrors
}

// FabricInfo is the membership in an NVLink fabric.
type FabricInfo struct {
	// ClusterUUID in lower case with hyphens.
	ClusterUUID string
	// CliqueID within the cluster.
	CliqueID uint32
	// State is nvmlGpuFabricState_t: 0 not supported, 1 not started, 2 in progress, 3 completed.
	State uint8
	// Status is NVML's return code of the registration.
	Status uint32
	// HealthMask, where version 2 or later of NVML's call works, or nil.
	HealthMask *uint32
	// HealthSummary, where version 3 works, or nil.
	HealthSummary *uint8
}

// ComputeProcess is a process that computes on a GPU.
type ComputeProcess struct {
	// PID of the process.
	PID uint32
	// UsedMemory in bytes; nil where the driver cannot tell.
	UsedMemory *uint64
	// SMUtilization in per cent of SM time by its newest sample of the last minute, or nil.
	SMUtilization *uint32
}

// ProcessUtilization is what a process used lately, in per cent.
type ProcessUtilization struct {
	// PID of the process.
	PID uint32
	// Time when the driver took the sample.
	Time time.Time
	// SM time.
	SM uint32
	// Memory time.
	Memory uint32
	// Encoder time.
	Encoder uint32
	// Decoder time.
	Decoder uint32
}

// GPMMetric is one GPU performance metric.
type GPMMetric struct {
	// ID is nvmlGpmMetricId_t.
	ID uint32
	// Value in the metric's unit.
	Value float64
}

// MIGDevice is a part of a GPU with an identity of its own.
type MIGDevice struct {
	// Index below its GPU; there may be holes.
	Index uint32
	// UUID, "MIG-…".
	UUID string
	// Name of product and profile.
	Name string
	// GPUInstance, or nil.
	GPUInstance *uint32
	// ComputeInstance, or nil.
	ComputeInstance *uint32
	// Memory is its frame buffer, or nil.
	Memory *MemoryInfo
	// Multiprocessors is how many it has, or nil.
	Multiprocessors *uint32
	// Extra is for later versions.
	Extra []gpud.Pair
}

// PCIeLink is the link of a GPU; nil where not supported.
type PCIeLink struct {
	// Generation now. Drops while the GPU is idle.
	Generation *uint32
	// Width now, in lanes.
	Width *uint32
	// MaxGeneration that GPU and slot can do.
	MaxGeneration *uint32
	// MaxWidth that GPU and slot can do, in lanes.
	MaxWidth *uint32
}
