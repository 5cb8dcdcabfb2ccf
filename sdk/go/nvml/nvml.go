// Package nvml asks NVIDIA GPUs through the driver's management library (NVML). Grant: "nvml: true".
//
// Units and numbers are NVML's unless stated; NVIDIA's nvml.h has what its structs and enums mean. Readings may be 3
// seconds old, the list of devices 10. A call that does not come back is gpud.ErrTimedOut after 5 seconds, and further
// calls to that GPU then fail at once; other GPUs are not held up. A GPU that is gone answers gpud.ErrSourceLost, one
// that wants a reset gpud.ErrNeedsReset. What GPU or driver cannot do is gpud.ErrNotSupported, and without a library or
// a driver all is gpud.ErrNotFound.
package nvml

import "time"

// LibraryState is what is known of the library.
type LibraryState uint8

// What is known of the library.
const (
	// LibraryLoaded: it is there, and devices could be enumerated.
	LibraryLoaded LibraryState = iota
	// LibraryNotFound: no library or no driver on this machine.
	LibraryNotFound
	// LibraryFailed: it is there, but initialisation or enumeration failed.
	LibraryFailed
	// LibraryOther: nothing can be said, for example since the driver is still being started.
	LibraryOther
)

// Library is what is known of the library.
type Library struct {
	// State of the library.
	State LibraryState
	// Detail says what was looked for, or what NVML said; empty if LibraryLoaded.
	Detail string
}

// LibraryStatus says whether NVML is there.
func LibraryStatus() Library { return libraryStatus() }

// DriverVersion gives the version of the driver, for example "570.133.20".
func DriverVersion() (string, error) { return driverVersion() }

// CUDAVersion gives the CUDA version that the driver supports, as major × 1000 + minor × 10.
func CUDAVersion() (uint32, error) { return cudaVersion() }

// ProductName gives that of the first GPU, for example "NVIDIA H100 80GB HBM3"; empty without GPUs.
func ProductName() (string, error) { return productName() }

// Devices gives all GPUs in NVML's order: those that are there, and those that were since the driver was started. One
// that has gone answers gpud.ErrSourceLost to every question; one that could not be opened even once has the UUID
// "unknown-gpu-‹index›" and no name. Ask once and keep them: each list has handles of its own, which stay until the
// call of the checker ends, and beyond 4,096 of them the host gives gpud.ErrOverBudget.
func Devices() ([]Device, error) { return devices() }

// GPMReading is what one GPU said to GPMMetricsOfAll.
type GPMReading struct {
	// UUID of the GPU.
	UUID string
	// Metrics, if Err is nil.
	Metrics []GPMMetric
	// Err says why there are none.
	Err error
}

// GPMMetricsOfAll is Device.GPMMetrics of all GPUs at once, which takes little longer than for one.
func GPMMetricsOfAll(ids []uint32, period time.Duration) ([]GPMReading, error) {
	return gpmMetricsOfAll(ids, period)
}
