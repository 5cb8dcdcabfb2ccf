package nvml_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"gpud.internal/gpud"
	"gpud.internal/gpud/gpudtest"
	"gpud.internal/gpud/nvml"
)

// first gives the first GPU of a machine that has this one.
func first(t *testing.T, gpu gpudtest.GPU) (*gpudtest.Host, nvml.Device) {
	t.Helper()
	host := gpudtest.New(t)
	host.GPUs = []gpudtest.GPU{gpu}
	devices, err := nvml.Devices()
	if err != nil || len(devices) != 1 {
		t.Fatal(devices, err)
	}
	return host, devices[0]
}

// is compares what a reading gave.
func is[T comparable](t *testing.T, value T, err error, expected T) {
	t.Helper()
	if err != nil || value != expected {
		t.Errorf("%v %v, not %v", value, err, expected)
	}
}

// fails compares why a reading gave nothing.
func fails[T any](t *testing.T, value T, err, kind error) {
	t.Helper()
	if access := (*gpud.AccessError)(nil); !errors.Is(err, kind) || !errors.As(err, &access) {
		t.Errorf("%v %v, not %v", value, err, kind)
	}
}

var identity = nvml.Identity{Index: 0, UUID: "GPU-1", Name: "NVIDIA H100", BusID: "0000:0f:00.0", Serial: "7"}

func TestReadings(t *testing.T) {
	_, gpu := first(t, gpudtest.GPU{
		Identity:        identity,
		MemoryInfo:      &nvml.MemoryInfo{Total: 3, Used: 1},
		Clocks:          map[nvml.Clock]uint32{nvml.ClockSM: 1980},
		Power:           &nvml.Power{Usage: new(uint32(70_000))},
		PersistenceMode: new(true),
		Temperatures:    map[nvml.TemperatureSensor]uint32{nvml.SensorCore: 45},
		ECCTotal: func(kind nvml.ECCError, period nvml.ECCPeriod) (uint64, error) {
			if kind == nvml.ECCUncorrected && period == nvml.ECCAggregate {
				return 2, nil
			}
			return 0, gpud.ErrOther
		},
		NVLinks: []nvml.NVLink{
			{Link: 0, Active: true, Errors: &nvml.NVLinkErrors{CRC: 4}}, {Link: 1},
		},
		NVLinkP2PStatus:  map[string]uint32{"GPU-1": 0},
		ComputeProcesses: []nvml.ComputeProcess{},
		GPM:              map[uint32]float64{2: 50, 3: 60},
		FieldValue:       func(field, scope uint32) (float64, error) { return float64(field + scope), nil },
	})
	if subject := gpu.Identity().Subject(); subject != (gpud.GPU{UUID: "GPU-1", Serial: "7", PCIID: "0000:0f:00.0"}) {
		t.Error(subject)
	}
	if err := gpu.Presence(); err != nil {
		t.Error(err)
	}
	memory, err := gpu.MemoryInfo()
	is(t, memory, err, nvml.MemoryInfo{Total: 3, Used: 1})
	clock, err := gpu.ClockMHz(nvml.ClockSM)
	is(t, clock, err, 1980)
	power, err := gpu.Power()
	is(t, *power.Usage, err, 70_000)
	persistence, err := gpu.PersistenceMode()
	is(t, persistence, err, true)
	temperature, err := gpu.Temperature(nvml.SensorCore)
	is(t, temperature, err, 45)
	total, err := gpu.ECCTotal(nvml.ECCUncorrected, nvml.ECCAggregate)
	is(t, total, err, 2)
	active, err := gpu.NVLinkActive(1)
	is(t, active, err, false)
	counters, err := gpu.NVLinkErrors(0)
	is(t, counters, err, nvml.NVLinkErrors{CRC: 4})
	links, err := gpu.NVLinks()
	is(t, len(links), err, 2)
	status, err := gpu.NVLinkP2PStatus(gpu)
	is(t, status, err, 0)
	processes, err := gpu.ComputeProcesses()
	is(t, len(processes), err, 0)
	metrics, err := gpu.GPMMetrics([]uint32{3, 7, 2}, time.Second)
	if err != nil || !slices.Equal(metrics, []nvml.GPMMetric{{ID: 3, Value: 60}, {ID: 2, Value: 50}}) {
		t.Error(metrics, err)
	}
	value, err := gpu.FieldValue(82, 1)
	is(t, value, err, 83)
}

func TestFurtherReadings(t *testing.T) {
	_, gpu := first(t, gpudtest.GPU{
		Identity:              identity,
		Utilization:           &nvml.Utilization{GPU: 90},
		ClockEventReasons:     new(uint64(8)),
		TemperatureThresholds: map[nvml.TemperatureThreshold]uint32{nvml.ThresholdSlowdown: 87},
		TemperatureMargin:     new(int32(-1)),
		ECCMode:               &nvml.ECCMode{Current: true},
		ECCCount: func(_ nvml.ECCError, _ nvml.ECCPeriod, location nvml.MemoryLocation) (uint64, error) {
			return uint64(location), nil
		},
		RemappedRows:       &nvml.RemappedRows{Pending: true},
		RowHistogram:       &nvml.RowHistogram{Max: 640},
		SRAMECCStatus:      &nvml.SRAMECCStatus{AggregateUncorrectableL2: 7, ThresholdExceeded: true},
		FabricInfo:         &nvml.FabricInfo{State: 3},
		ProcessUtilization: []nvml.ProcessUtilization{{PID: 1}},
		MIGEnabled:         new(true),
		MIGDevices:         []nvml.MIGDevice{{UUID: "MIG-1"}},
		PCIeLink:           &nvml.PCIeLink{},
	})
	utilization, err := gpu.Utilization()
	is(t, utilization, err, nvml.Utilization{GPU: 90})
	reasons, err := gpu.ClockEventReasons()
	is(t, reasons, err, 8)
	threshold, err := gpu.TemperatureThreshold(nvml.ThresholdSlowdown)
	is(t, threshold, err, 87)
	margin, err := gpu.TemperatureMargin()
	is(t, margin, err, -1)
	mode, err := gpu.ECCMode()
	is(t, mode, err, nvml.ECCMode{Current: true})
	count, err := gpu.ECCCount(nvml.ECCCorrected, nvml.ECCVolatile, nvml.LocationSRAM)
	is(t, count, err, 7)
	rows, err := gpu.RemappedRows()
	is(t, rows, err, nvml.RemappedRows{Pending: true})
	histogram, err := gpu.RowHistogram()
	is(t, histogram, err, nvml.RowHistogram{Max: 640})
	sram, err := gpu.SRAMECCStatus()
	is(t, sram, err, nvml.SRAMECCStatus{AggregateUncorrectableL2: 7, ThresholdExceeded: true})
	fabric, err := gpu.FabricInfo()
	is(t, fabric, err, nvml.FabricInfo{State: 3})
	processes, err := gpu.ProcessUtilization()
	is(t, len(processes), err, 1)
	mig, err := gpu.MIGEnabled()
	is(t, mig, err, true)
	instances, err := gpu.MIGDevices()
	is(t, len(instances), err, 1)
	link, err := gpu.PCIeLink()
	is(t, link, err, nvml.PCIeLink{})
}

func TestWhatIsNotGivenIsNotSupported(t *testing.T) {
	_, gpu := first(t, gpudtest.GPU{
		Identity:     identity,
		Temperatures: map[nvml.TemperatureSensor]uint32{nvml.SensorCore: 45},
		NVLinks:      []nvml.NVLink{{}},
	})
	temperature, err := gpu.Temperature(nvml.SensorMemory)
	fails(t, temperature, err, gpud.ErrNotSupported)
	mode, err := gpu.ECCMode()
	fails(t, mode, err, gpud.ErrNotSupported)
	count, err := gpu.ECCCount(nvml.ECCCorrected, nvml.ECCVolatile, nvml.LocationDRAM)
	fails(t, count, err, gpud.ErrNotSupported)
	counters, err := gpu.NVLinkErrors(0)
	fails(t, counters, err, gpud.ErrNotSupported)
	active, err := gpu.NVLinkActive(1)
	fails(t, active, err, gpud.ErrNotSupported)
	instances, err := gpu.MIGDevices()
	fails(t, instances, err, gpud.ErrNotSupported)
	metrics, err := gpu.GPMMetrics(nil, time.Second)
	fails(t, metrics, err, gpud.ErrNotSupported)
	value, err := gpu.FieldValue(82, 0)
	fails(t, value, err, gpud.ErrNotSupported)
	version, err := nvml.DriverVersion()
	fails(t, version, err, gpud.ErrNotSupported)
}

func TestErrors(t *testing.T) {
	host, gpu := first(t, gpudtest.GPU{
		Identity:   identity,
		Errors:     map[string]error{"Temperature": gpud.ErrTimedOut},
		MemoryInfo: &nvml.MemoryInfo{Total: 3},
		ECCTotal:   func(nvml.ECCError, nvml.ECCPeriod) (uint64, error) { return 0, gpud.ErrNeedsReset },
	})
	temperature, err := gpu.Temperature(nvml.SensorCore)
	fails(t, temperature, err, gpud.ErrTimedOut)
	total, err := gpu.ECCTotal(nvml.ECCCorrected, nvml.ECCVolatile)
	fails(t, total, err, gpud.ErrNeedsReset)
	if text := err.Error(); text != "ECCTotal of GPU-1: needs a reset" {
		t.Error(text)
	}
	metrics, err := gpu.GPMMetrics(make([]uint32, 65), time.Second)
	fails(t, metrics, err, gpud.ErrInvalidArgument)

	host.Errors["GPU-1"] = gpud.ErrSourceLost
	memory, err := gpu.MemoryInfo()
	fails(t, memory, err, gpud.ErrSourceLost)
	fails(t, gpu, gpu.Presence(), gpud.ErrSourceLost)
	is(t, gpu.Identity().UUID, nil, "GPU-1")

	host.Errors["Devices"] = gpud.ErrTimedOut
	devices, err := nvml.Devices()
	fails(t, devices, err, gpud.ErrTimedOut)
}

func TestTheDriver(t *testing.T) {
	host := gpudtest.New(t)
	host.GPUs = []gpudtest.GPU{{Identity: identity, GPM: map[uint32]float64{2: 50}}, {}}
	host.DriverVersion, host.CUDAVersion = "570.133.20", 12080
	if status := nvml.LibraryStatus(); status != (nvml.Library{State: nvml.LibraryLoaded}) {
		t.Error(status)
	}
	driver, err := nvml.DriverVersion()
	is(t, driver, err, "570.133.20")
	cuda, err := nvml.CUDAVersion()
	is(t, cuda, err, 12080)
	name, err := nvml.ProductName()
	is(t, name, err, "NVIDIA H100")
	readings, err := nvml.GPMMetricsOfAll([]uint32{2}, time.Second)
	is(t, len(readings), err, 2)
	is(t, readings[0].Metrics[0], readings[0].Err, nvml.GPMMetric{ID: 2, Value: 50})
	fails(t, readings[1], readings[1].Err, gpud.ErrNotSupported)

	host.GPUs = []gpudtest.GPU{}
	devices, err := nvml.Devices()
	is(t, len(devices), err, 0)
	name, err = nvml.ProductName()
	is(t, name, err, "")
}

func TestNoDriver(t *testing.T) {
	host := gpudtest.New(t)
	host.DriverVersion = "570.133.20"
	if status := nvml.LibraryStatus(); status.State != nvml.LibraryNotFound || status.Detail == "" {
		t.Error(status)
	}
	devices, err := nvml.Devices()
	fails(t, devices, err, gpud.ErrNotFound)
	version, err := nvml.DriverVersion()
	fails(t, version, err, gpud.ErrNotFound)
	readings, err := nvml.GPMMetricsOfAll(nil, time.Second)
	fails(t, readings, err, gpud.ErrNotFound)
}

func TestDenied(t *testing.T) {
	host, gpu := first(t, gpudtest.GPU{Identity: identity, PersistenceMode: new(true)})
	host.Denied["nvml"] = true
	if status := nvml.LibraryStatus(); status.State != nvml.LibraryOther {
		t.Error(status)
	}
	devices, err := nvml.Devices()
	fails(t, devices, err, gpud.ErrDenied)
	mode, err := gpu.PersistenceMode()
	fails(t, mode, err, gpud.ErrDenied)
	cuda, err := nvml.CUDAVersion()
	fails(t, cuda, err, gpud.ErrDenied)
}
