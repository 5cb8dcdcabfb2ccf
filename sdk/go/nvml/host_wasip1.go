package nvml

import (
	"time"

	"gpud.internal/gpud/internal/convert"
	wit "gpud.internal/gpud/internal/wit/gpud_plugin_nvml"
	"gpud.internal/gpud/internal/witrt"
)

func libraryStatus() Library {
	found := wit.LibraryStatus()
	switch found.Tag() {
	case wit.Library_Loaded:
		return Library{State: LibraryLoaded}
	case wit.Library_NotFound:
		return Library{LibraryNotFound, found.NotFound()}
	case wit.Library_Failed:
		return Library{LibraryFailed, found.Failed()}
	}
	return Library{LibraryOther, found.Other()}
}

func driverVersion() (string, error) { return convert.Result(wit.DriverVersion()) }
func cudaVersion() (uint32, error)   { return convert.Result(wit.CudaVersion()) }
func productName() (string, error)   { return convert.Result(wit.ProductName()) }

func devices() ([]Device, error) {
	return list(wit.Devices(), func(device *wit.Device) Device { return Device{handle{device}} })
}

func gpmMetricsOfAll(ids []uint32, period time.Duration) ([]GPMReading, error) {
	return list(wit.GpmMetricsOfAll(ids, convert.Milliseconds(period)), func(from wit.GpmReading) GPMReading {
		metrics, err := list(from.Metrics, gpmMetric)
		return GPMReading{from.Uuid, metrics, err}
	})
}

// list gives the entries of an answer, converted.
func list[A, B any](from witrt.Result[[]A, wit.AccessError], entry func(A) B) ([]B, error) {
	found, err := convert.Result(from)
	if err != nil {
		return nil, err
	}
	out := make([]B, len(found))
	for i, one := range found {
		out[i] = entry(one)
	}
	return out, nil
}
