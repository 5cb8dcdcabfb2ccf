package nvml

// Clock is which clock.
type Clock uint8

// Which clock, by NVML's numbers.
const (
	// ClockGraphics is that of graphics.
	ClockGraphics Clock = iota
	// ClockSM is that of the multiprocessors.
	ClockSM
	// ClockMemory is that of memory.
	ClockMemory
	// ClockVideo is that of the video engines.
	ClockVideo
)

// TemperatureSensor is which temperature.
type TemperatureSensor uint8

// Which temperature.
const (
	// SensorCore is that of the GPU core.
	SensorCore TemperatureSensor = iota
	// SensorMemory is that of memory; the host reads field 82, since drivers refuse the sensor.
	SensorMemory
)

// TemperatureThreshold is which threshold.
type TemperatureThreshold uint8

// Which threshold.
const (
	// ThresholdShutdown is where the GPU shuts down.
	ThresholdShutdown TemperatureThreshold = iota
	// ThresholdSlowdown is where it slows down.
	ThresholdSlowdown
	// ThresholdMemoryMax is the maximum of memory.
	ThresholdMemoryMax
	// ThresholdGPUMax is the maximum of the GPU.
	ThresholdGPUMax
)

// ECCError is which errors.
type ECCError uint8

// Which errors.
const (
	// ECCCorrected errors did no harm.
	ECCCorrected ECCError = iota
	// ECCUncorrected errors lost data.
	ECCUncorrected
)

// ECCPeriod is since when errors are counted.
type ECCPeriod uint8

// Since when errors are counted.
const (
	// ECCVolatile: since the last reset.
	ECCVolatile ECCPeriod = iota
	// ECCAggregate: over the life of the board.
	ECCAggregate
)

// MemoryLocation is where errors are counted, by nvmlMemoryLocation_t.
type MemoryLocation uint8

// Where errors are counted.
const (
	// LocationL1Cache is the first level cache.
	LocationL1Cache MemoryLocation = iota
	// LocationL2Cache is the second level cache.
	LocationL2Cache
	// LocationDRAM is device memory as well.
	LocationDRAM
	// LocationRegisterFile is the register file.
	LocationRegisterFile
	// LocationTextureMemory is texture memory.
	LocationTextureMemory
	// LocationTextureShared is shared memory of textures.
	LocationTextureShared
	// LocationCBU is the convergence barrier unit.
	LocationCBU
	// LocationSRAM is all on-chip memory.
	LocationSRAM
)
