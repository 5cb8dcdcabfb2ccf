//go:build !wasip1

package nvml

import (
	"time"

	"gpud.internal/gpud/internal/nohost"
)

// Backend stands behind this package in native builds; package gpudtest has one.
type Backend interface {
	LibraryStatus() Library
	DriverVersion() (string, error)
	CUDAVersion() (uint32, error)
	ProductName() (string, error)
	Devices() ([]GPU, error)
	GPMMetricsOfAll(ids []uint32, period time.Duration) ([]GPMReading, error)
}

// GPU stands behind a Device in native builds.
type GPU interface {
	Identity() Identity
	Presence() error
	MemoryInfo() (MemoryInfo, error)
	Utilization() (Utilization, error)
	ClockMHz(which Clock) (uint32, error)
	ClockEventReasons() (uint64, error)
	Power() (Power, error)
	PersistenceMode() (bool, error)
	Temperature(sensor TemperatureSensor) (uint32, error)
	TemperatureThreshold(threshold TemperatureThreshold) (uint32, error)
	TemperatureMargin() (int32, error)
	ECCMode() (ECCMode, error)
	ECCTotal(kind ECCError, period ECCPeriod) (uint64, error)
	ECCCount(kind ECCError, period ECCPeriod, location MemoryLocation) (uint64, error)
	RemappedRows() (RemappedRows, error)
	RowHistogram() (RowHistogram, error)
	SRAMECCStatus() (SRAMECCStatus, error)
	NVLinkActive(link uint32) (bool, error)
	NVLinkErrors(link uint32) (NVLinkErrors, error)
	NVLinks() ([]NVLink, error)
	NVLinkP2PStatus(other GPU) (uint32, error)
	FabricInfo() (FabricInfo, error)
	ComputeProcesses() ([]ComputeProcess, error)
	ProcessUtilization() ([]ProcessUtilization, error)
	GPMMetrics(ids []uint32, period time.Duration) ([]GPMMetric, error)
	MIGEnabled() (bool, error)
	MIGDevices() ([]MIGDevice, error)
	PCIeLink() (PCIeLink, error)
	FieldValue(field, scope uint32) (float64, error)
}

type handle = GPU

var backend Backend

// SetBackend puts a backend in place and gives the one that was there.
func SetBackend(b Backend) Backend {
	before := backend
	backend = b
	return before
}

func host() Backend { return nohost.Require(backend, backend != nil) }

func libraryStatus() Library         { return host().LibraryStatus() }
func driverVersion() (string, error) { return host().DriverVersion() }
func cudaVersion() (uint32, error)   { return host().CUDAVersion() }
func productName() (string, error)   { return host().ProductName() }

func devices() ([]Device, error) {
	found, err := host().Devices()
	if err != nil {
		return nil, err
	}
	out := make([]Device, len(found))
	for i, gpu := range found {
		out[i] = Device{gpu}
	}
	return out, nil
}

func gpmMetricsOfAll(ids []uint32, period time.Duration) ([]GPMReading, error) {
	return host().GPMMetricsOfAll(ids, period)
}
