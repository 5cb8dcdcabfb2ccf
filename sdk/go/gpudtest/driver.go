//go:build !wasip1

package gpudtest

import (
	"time"

	"gpud.internal/gpud"
	"gpud.internal/gpud/nvml"
)

// library is what is looked for where there is no driver.
const library = "libnvidia-ml.so.1"

func notSupported(what string) error {
	return &gpud.AccessError{Kind: gpud.ErrNotSupported, What: what}
}

type driver struct{ *Host }

// works says what stands in the way of an answer, if anything does.
func (h driver) works(what string) error {
	if err := h.fault("nvml", what); err != nil {
		return err
	}
	if h.GPUs == nil {
		return notFound(library)
	}
	return nil
}

func (h driver) LibraryStatus() nvml.Library {
	if err := h.fault("nvml", "LibraryStatus"); err != nil {
		return nvml.Library{State: nvml.LibraryOther, Detail: err.Error()}
	}
	if h.GPUs == nil {
		return nvml.Library{State: nvml.LibraryNotFound, Detail: library}
	}
	return nvml.Library{State: nvml.LibraryLoaded}
}

func (h driver) DriverVersion() (string, error) {
	const what = "DriverVersion"
	if err := h.works(what); err != nil {
		return "", err
	}
	if h.Host.DriverVersion == "" {
		return "", notSupported(what)
	}
	return h.Host.DriverVersion, nil
}

func (h driver) CUDAVersion() (uint32, error) {
	const what = "CUDAVersion"
	if err := h.works(what); err != nil {
		return 0, err
	}
	if h.Host.CUDAVersion == 0 {
		return 0, notSupported(what)
	}
	return h.Host.CUDAVersion, nil
}

func (h driver) ProductName() (string, error) {
	if err := h.works("ProductName"); err != nil || len(h.GPUs) == 0 {
		return "", err
	}
	return h.GPUs[0].Identity.Name, nil
}

func (h driver) Devices() ([]nvml.GPU, error) {
	if err := h.works("Devices"); err != nil {
		return nil, err
	}
	out := make([]nvml.GPU, len(h.GPUs))
	for i, gpu := range h.GPUs {
		out[i] = device{h.Host, gpu}
	}
	return out, nil
}

func (h driver) GPMMetricsOfAll(ids []uint32, period time.Duration) ([]nvml.GPMReading, error) {
	if err := h.works("GPMMetricsOfAll"); err != nil {
		return nil, err
	}
	out := make([]nvml.GPMReading, len(h.GPUs))
	for i, gpu := range h.GPUs {
		metrics, err := device{h.Host, gpu}.GPMMetrics(ids, period)
		out[i] = nvml.GPMReading{UUID: gpu.Identity.UUID, Metrics: metrics, Err: err}
	}
	return out, nil
}
