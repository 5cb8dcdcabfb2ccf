package nvml

import (
	"time"

	"gpud.internal/gpud/internal/convert"
	wit "gpud.internal/gpud/internal/wit/gpud_plugin_nvml"
)

// handle asks the host about one GPU. Its methods are called directly, so that a component has only those that it uses.
type handle struct{ of *wit.Device }

func (h handle) Identity() Identity { return identity(h.of.Identity()) }

func (h handle) Presence() error {
	_, err := convert.Result(h.of.Presence())
	return err
}

func (h handle) MemoryInfo() (MemoryInfo, error) {
	found, err := convert.Result(h.of.MemoryInfo())
	return MemoryInfo(found), err
}

func (h handle) Utilization() (Utilization, error) {
	found, err := convert.Result(h.of.Utilization())
	return Utilization{GPU: found.Gpu, Memory: found.Memory}, err
}

func (h handle) ClockMHz(which Clock) (uint32, error) {
	return convert.Result(h.of.ClockMhz(wit.Clock(which)))
}

func (h handle) ClockEventReasons() (uint64, error) { return convert.Result(h.of.ClockEventReasons()) }

func (h handle) Power() (Power, error) {
	found, err := convert.Result(h.of.Power())
	return Power{optional(found.Usage), optional(found.EnforcedLimit), optional(found.ManagementLimit)}, err
}

func (h handle) PersistenceMode() (bool, error) { return convert.Result(h.of.PersistenceMode()) }

func (h handle) Temperature(sensor TemperatureSensor) (uint32, error) {
	return convert.Result(h.of.Temperature(wit.TemperatureSensor(sensor)))
}

func (h handle) TemperatureThreshold(threshold TemperatureThreshold) (uint32, error) {
	return convert.Result(h.of.TemperatureThreshold(wit.TemperatureThreshold(threshold)))
}

func (h handle) TemperatureMargin() (int32, error) { return convert.Result(h.of.TemperatureMargin()) }

func (h handle) ECCMode() (ECCMode, error) {
	found, err := convert.Result(h.of.EccMode())
	return ECCMode(found), err
}

func (h handle) ECCTotal(kind ECCError, period ECCPeriod) (uint64, error) {
	return convert.Result(h.of.EccTotal(wit.EccError(kind), wit.EccPeriod(period)))
}

func (h handle) ECCCount(kind ECCError, period ECCPeriod, location MemoryLocation) (uint64, error) {
	return convert.Result(h.of.EccCount(wit.EccError(kind), wit.EccPeriod(period), wit.MemoryLocation(location)))
}

func (h handle) RemappedRows() (RemappedRows, error) {
	found, err := convert.Result(h.of.RemappedRows())
	return RemappedRows(found), err
}

func (h handle) RowHistogram() (RowHistogram, error) {
	found, err := convert.Result(h.of.RowHistogram())
	return RowHistogram(found), err
}

func (h handle) SRAMECCStatus() (SRAMECCStatus, error) {
	found, err := convert.Result(h.of.SramEccStatus())
	return SRAMECCStatus{
		AggregateUncorrectableParity:          found.AggregateUncorrectableParity,
		AggregateUncorrectableSECDED:          found.AggregateUncorrectableSecDed,
		AggregateCorrectable:                  found.AggregateCorrectable,
		VolatileUncorrectableParity:           found.VolatileUncorrectableParity,
		VolatileUncorrectableSECDED:           found.VolatileUncorrectableSecDed,
		VolatileCorrectable:                   found.VolatileCorrectable,
		AggregateUncorrectableL2:              found.AggregateUncorrectableL2,
		AggregateUncorrectableSM:              found.AggregateUncorrectableSm,
		AggregateUncorrectablePCIe:            found.AggregateUncorrectablePcie,
		AggregateUncorrectableMicrocontroller: found.AggregateUncorrectableMicrocontroller,
		AggregateUncorrectableOther:           found.AggregateUncorrectableOther,
		ThresholdExceeded:                     found.ThresholdExceeded,
	}, err
}

func (h handle) NVLinkActive(link uint32) (bool, error) {
	return convert.Result(h.of.NvlinkActive(link))
}

func (h handle) NVLinkErrors(link uint32) (NVLinkErrors, error) {
	found, err := convert.Result(h.of.NvlinkErrors(link))
	return nvlinkErrors(found), err
}

func (h handle) NVLinks() ([]NVLink, error) { return list(h.of.Nvlinks(), nvlink) }

func (h handle) NVLinkP2PStatus(other handle) (uint32, error) {
	return convert.Result(h.of.NvlinkP2pStatus(other.of))
}

func (h handle) FabricInfo() (FabricInfo, error) {
	found, err := convert.Result(h.of.FabricInfo())
	return fabricInfo(found), err
}

func (h handle) ComputeProcesses() ([]ComputeProcess, error) {
	return list(h.of.ComputeProcesses(), computeProcess)
}

func (h handle) ProcessUtilization() ([]ProcessUtilization, error) {
	return list(h.of.ProcessUtilization(), processUtilization)
}

func (h handle) GPMMetrics(ids []uint32, period time.Duration) ([]GPMMetric, error) {
	return list(h.of.GpmMetrics(ids, convert.Milliseconds(period)), gpmMetric)
}

func (h handle) MIGEnabled() (bool, error) { return convert.Result(h.of.MigEnabled()) }

func (h handle) MIGDevices() ([]MIGDevice, error) { return list(h.of.MigDevices(), migDevice) }

func (h handle) PCIeLink() (PCIeLink, error) {
	found, err := convert.Result(h.of.PcieLink())
	return PCIeLink{
		optional(found.Generation), optional(found.Width), optional(found.MaxGeneration), optional(found.MaxWidth),
	}, err
}

func (h handle) FieldValue(field, scope uint32) (float64, error) {
	return convert.Result(h.of.FieldValue(field, scope))
}
