//go:build !wasip1

package gpudtest

import (
	"time"

	"gpud.internal/gpud"
	"gpud.internal/gpud/nvml"
)

// maxGPM is how many metrics can be asked for at once.
const maxGPM = 64

// device answers from the readings of a GPU.
type device struct {
	host *Host
	gpu  GPU
}

// answer gives a reading, if it is there and nothing stands in the way.
func answer[T any](d device, method string, reading func() (value T, there bool, err error)) (T, error) {
	var none T
	uuid := d.gpu.Identity.UUID
	what := method + " of " + uuid
	if err := d.host.fault("nvml", uuid); err != nil {
		return none, err
	}
	if err := named(d.gpu.Errors[method], what); err != nil {
		return none, err
	}
	value, there, err := reading()
	switch {
	case err != nil:
		return none, named(err, what)
	case !there:
		return none, notSupported(what)
	}
	return value, nil
}

func one[T any](d device, method string, reading *T) (T, error) {
	return answer(d, method, func() (value T, there bool, err error) {
		if reading != nil {
			value = *reading
		}
		return value, reading != nil, nil
	})
}

func several[T any](d device, method string, readings []T) ([]T, error) {
	return answer(d, method, func() ([]T, bool, error) { return readings, readings != nil, nil })
}

func which[K comparable, T any](d device, method string, readings map[K]T, key K) (T, error) {
	return answer(d, method, func() (T, bool, error) {
		value, there := readings[key]
		return value, there, nil
	})
}

func (d device) Identity() nvml.Identity { return d.gpu.Identity }

func (d device) Presence() error {
	_, err := one(d, "Presence", &struct{}{})
	return err
}

func (d device) MemoryInfo() (nvml.MemoryInfo, error) { return one(d, "MemoryInfo", d.gpu.MemoryInfo) }

func (d device) Utilization() (nvml.Utilization, error) {
	return one(d, "Utilization", d.gpu.Utilization)
}

func (d device) ClockMHz(clock nvml.Clock) (uint32, error) {
	return which(d, "ClockMHz", d.gpu.Clocks, clock)
}

func (d device) ClockEventReasons() (uint64, error) {
	return one(d, "ClockEventReasons", d.gpu.ClockEventReasons)
}

func (d device) Power() (nvml.Power, error) { return one(d, "Power", d.gpu.Power) }

func (d device) PersistenceMode() (bool, error) {
	return one(d, "PersistenceMode", d.gpu.PersistenceMode)
}

func (d device) Temperature(sensor nvml.TemperatureSensor) (uint32, error) {
	return which(d, "Temperature", d.gpu.Temperatures, sensor)
}

func (d device) TemperatureThreshold(threshold nvml.TemperatureThreshold) (uint32, error) {
	return which(d, "TemperatureThreshold", d.gpu.TemperatureThresholds, threshold)
}

func (d device) TemperatureMargin() (int32, error) {
	return one(d, "TemperatureMargin", d.gpu.TemperatureMargin)
}

func (d device) ECCMode() (nvml.ECCMode, error) { return one(d, "ECCMode", d.gpu.ECCMode) }

func (d device) ECCTotal(kind nvml.ECCError, period nvml.ECCPeriod) (uint64, error) {
	return answer(d, "ECCTotal", func() (count uint64, there bool, err error) {
		if d.gpu.ECCTotal != nil {
			count, err = d.gpu.ECCTotal(kind, period)
		}
		return count, d.gpu.ECCTotal != nil, err
	})
}

func (d device) ECCCount(kind nvml.ECCError, period nvml.ECCPeriod, at nvml.MemoryLocation) (uint64, error) {
	return answer(d, "ECCCount", func() (count uint64, there bool, err error) {
		if d.gpu.ECCCount != nil {
			count, err = d.gpu.ECCCount(kind, period, at)
		}
		return count, d.gpu.ECCCount != nil, err
	})
}

func (d device) RemappedRows() (nvml.RemappedRows, error) {
	return one(d, "RemappedRows", d.gpu.RemappedRows)
}

func (d device) RowHistogram() (nvml.RowHistogram, error) {
	return one(d, "RowHistogram", d.gpu.RowHistogram)
}

func (d device) SRAMECCStatus() (nvml.SRAMECCStatus, error) {
	return one(d, "SRAMECCStatus", d.gpu.SRAMECCStatus)
}

// link gives the NVLink with a number, or nil.
func (d device) link(number uint32) *nvml.NVLink {
	for i := range d.gpu.NVLinks {
		if d.gpu.NVLinks[i].Link == number {
			return &d.gpu.NVLinks[i]
		}
	}
	return nil
}

func (d device) NVLinkActive(link uint32) (bool, error) {
	var active *bool
	if found := d.link(link); found != nil {
		active = &found.Active
	}
	return one(d, "NVLinkActive", active)
}

func (d device) NVLinkErrors(link uint32) (nvml.NVLinkErrors, error) {
	var errors *nvml.NVLinkErrors
	if found := d.link(link); found != nil {
		errors = found.Errors
	}
	return one(d, "NVLinkErrors", errors)
}

func (d device) NVLinks() ([]nvml.NVLink, error) { return several(d, "NVLinks", d.gpu.NVLinks) }

func (d device) NVLinkP2PStatus(other nvml.GPU) (uint32, error) {
	return which(d, "NVLinkP2PStatus", d.gpu.NVLinkP2PStatus, other.Identity().UUID)
}

func (d device) FabricInfo() (nvml.FabricInfo, error) { return one(d, "FabricInfo", d.gpu.FabricInfo) }

func (d device) ComputeProcesses() ([]nvml.ComputeProcess, error) {
	return several(d, "ComputeProcesses", d.gpu.ComputeProcesses)
}

func (d device) ProcessUtilization() ([]nvml.ProcessUtilization, error) {
	return several(d, "ProcessUtilization", d.gpu.ProcessUtilization)
}

func (d device) GPMMetrics(ids []uint32, _ time.Duration) ([]nvml.GPMMetric, error) {
	return answer(d, "GPMMetrics", func() (metrics []nvml.GPMMetric, there bool, err error) {
		if len(ids) > maxGPM {
			return nil, true, &gpud.AccessError{Kind: gpud.ErrInvalidArgument, What: "too many GPM metrics at once"}
		}
		for _, id := range ids {
			if value, has := d.gpu.GPM[id]; has {
				metrics = append(metrics, nvml.GPMMetric{ID: id, Value: value})
			}
		}
		return metrics, d.gpu.GPM != nil, nil
	})
}

func (d device) MIGEnabled() (bool, error) { return one(d, "MIGEnabled", d.gpu.MIGEnabled) }

func (d device) MIGDevices() ([]nvml.MIGDevice, error) {
	return several(d, "MIGDevices", d.gpu.MIGDevices)
}

func (d device) PCIeLink() (nvml.PCIeLink, error) { return one(d, "PCIeLink", d.gpu.PCIeLink) }

func (d device) FieldValue(field, scope uint32) (float64, error) {
	return answer(d, "FieldValue", func() (value float64, there bool, err error) {
		if d.gpu.FieldValue != nil {
			value, err = d.gpu.FieldValue(field, scope)
		}
		return value, d.gpu.FieldValue != nil, err
	})
}
