package nvml

import "time"

// Device is a handle of one GPU, by UUID. It may outlive the GPU: calls then give gpud.ErrSourceLost or
// gpud.ErrNotFound.
type Device struct{ handle handle }

// Identity says who it is. It is known since enumeration, so this does not fail.
func (d Device) Identity() Identity { return d.handle.Identity() }

// Presence is nil if the GPU is still there. If not: gpud.ErrSourceLost, gpud.ErrNeedsReset, gpud.ErrTimedOut, or
// gpud.ErrNotFound when the driver was unloaded.
func (d Device) Presence() error { return d.handle.Presence() }

// MemoryInfo gives the use of the frame buffer.
func (d Device) MemoryInfo() (MemoryInfo, error) { return d.handle.MemoryInfo() }

// Utilization says how busy it is.
func (d Device) Utilization() (Utilization, error) { return d.handle.Utilization() }

// ClockMHz gives a clock as it runs now.
func (d Device) ClockMHz(which Clock) (uint32, error) { return d.handle.ClockMHz(which) }

// ClockEventReasons says why clocks are what they are: the bit mask nvmlClocksEventReasons.
func (d Device) ClockEventReasons() (uint64, error) { return d.handle.ClockEventReasons() }

// Power gives what is drawn, and the limits.
func (d Device) Power() (Power, error) { return d.handle.Power() }

// PersistenceMode says whether it is on.
func (d Device) PersistenceMode() (bool, error) { return d.handle.PersistenceMode() }

// Temperature in degrees Celsius.
func (d Device) Temperature(sensor TemperatureSensor) (uint32, error) {
	return d.handle.Temperature(sensor)
}

// TemperatureThreshold in degrees Celsius.
func (d Device) TemperatureThreshold(threshold TemperatureThreshold) (uint32, error) {
	return d.handle.TemperatureThreshold(threshold)
}

// TemperatureMargin gives the degrees Celsius left until slowdown; may be negative. gpud.ErrNotSupported before driver
// 570.
func (d Device) TemperatureMargin() (int32, error) { return d.handle.TemperatureMargin() }

// ECCMode says whether ECC is on.
func (d Device) ECCMode() (ECCMode, error) { return d.handle.ECCMode() }

// ECCTotal counts ECC errors of the whole GPU.
func (d Device) ECCTotal(kind ECCError, period ECCPeriod) (uint64, error) {
	return d.handle.ECCTotal(kind, period)
}

// ECCCount counts ECC errors at one place.
func (d Device) ECCCount(kind ECCError, period ECCPeriod, location MemoryLocation) (uint64, error) {
	return d.handle.ECCCount(kind, period, location)
}

// RemappedRows says which rows of memory were remapped.
func (d Device) RemappedRows() (RemappedRows, error) { return d.handle.RemappedRows() }

// RowHistogram says how many spare rows for remapping are left.
func (d Device) RowHistogram() (RowHistogram, error) { return d.handle.RowHistogram() }

// SRAMECCStatus counts errors of on-chip memory, and says whether they are too many. gpud.ErrNotSupported before Ampere,
// where ECC is off, and before driver 550; gpud.ErrDenied to a daemon without root.
func (d Device) SRAMECCStatus() (SRAMECCStatus, error) { return d.handle.SRAMECCStatus() }

// NVLinkActive says whether a link is up. Links count from 0; there are at most 18.
func (d Device) NVLinkActive(link uint32) (bool, error) { return d.handle.NVLinkActive(link) }

// NVLinkErrors gives the error counters of a link.
func (d Device) NVLinkErrors(link uint32) (NVLinkErrors, error) { return d.handle.NVLinkErrors(link) }

// NVLinks gives all links that the GPU has, in one call: from 0 until the first that is not supported.
// gpud.ErrNotSupported when that is the first one; links that fail in another way are left out.
func (d Device) NVLinks() ([]NVLink, error) { return d.handle.NVLinks() }

// NVLinkP2PStatus gives nvmlGpuP2PStatus_t over NVLink to another GPU; 0 is OK.
func (d Device) NVLinkP2PStatus(other Device) (uint32, error) {
	return d.handle.NVLinkP2PStatus(other.handle)
}

// FabricInfo gives the membership in an NVLink fabric.
func (d Device) FabricInfo() (FabricInfo, error) { return d.handle.FabricInfo() }

// ComputeProcesses gives the processes that compute.
func (d Device) ComputeProcesses() ([]ComputeProcess, error) { return d.handle.ComputeProcesses() }

// ProcessUtilization gives what processes used, by the newest sample of each in the last minute.
func (d Device) ProcessUtilization() ([]ProcessUtilization, error) {
	return d.handle.ProcessUtilization()
}

// GPMMetrics takes metrics by nvmlGpmMetricId_t (at most 64) over a sample period (10 ms to 10 s), and takes as long as
// that. gpud.ErrNotSupported before Hopper; metrics that the GPU does not have are left out.
func (d Device) GPMMetrics(ids []uint32, period time.Duration) ([]GPMMetric, error) {
	return d.handle.GPMMetrics(ids, period)
}

// MIGEnabled says whether MIG mode is on.
func (d Device) MIGEnabled() (bool, error) { return d.handle.MIGEnabled() }

// MIGDevices gives its MIG devices; gpud.ErrNotSupported where the GPU has no MIG.
func (d Device) MIGDevices() ([]MIGDevice, error) { return d.handle.MIGDevices() }

// PCIeLink gives the link as it runs, and what it could do.
func (d Device) PCIeLink() (PCIeLink, error) { return d.handle.PCIeLink() }

// FieldValue gives a value of nvmlFieldValue_t by field and scope id, as a number. Ids 251 to 273 mean other things
// from driver 580.82 on (NVIDIA's known issue).
func (d Device) FieldValue(field, scope uint32) (float64, error) {
	return d.handle.FieldValue(field, scope)
}
