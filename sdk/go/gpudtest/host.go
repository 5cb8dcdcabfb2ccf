//go:build !wasip1

// Package gpudtest is a machine made of plain values, for native unit tests of a checker:
//
//	host := gpudtest.New(t)
//	host.Files["/sys/class/hwmon/hwmon0/name"] = "nvme\n"
//	host.Config = `{"warn": 70}`
//	report, err := host.Check(checker{})
//
// The host is put behind the capability packages until the test ends, so tests that use it must not run in parallel.
// What a test did not give answers gpud.ErrNotFound.
package gpudtest

import (
	"testing"
	"time"

	"gpud.internal/gpud"
	"gpud.internal/gpud/config"
	"gpud.internal/gpud/exec"
	"gpud.internal/gpud/history"
	"gpud.internal/gpud/kmsg"
	"gpud.internal/gpud/log"
	"gpud.internal/gpud/net"
	"gpud.internal/gpud/nvml"
	"gpud.internal/gpud/state"
	"gpud.internal/gpud/sysfs"
)

// Host is the machine. Its fields may be changed between checks.
type Host struct {
	// Files by path; folders above them are there as well.
	Files map[string]string
	// Links are targets of symbolic links by path.
	Links map[string]string
	// Errors by path, pattern, key, program, UUID of a GPU or whatever else is asked for; the text of an
	// *gpud.AccessError without one becomes what was asked for.
	Errors map[string]error
	// Stats of files; without one here, a file of Files is a regular file of mode 0444.
	Stats map[string]sysfs.FileStat
	// Filesystems by path.
	Filesystems map[string]sysfs.Usage
	// Config is the configuration document.
	Config string
	// State has the stored values. What a check writes stays only when it gave no error.
	State map[string][]byte
	// Programs answers exec; nil means that there is none. The program "bash" stands for RunBash, with the script as
	// its only argument.
	Programs func(program string, arguments []string, options exec.Options) (*exec.Output, error)
	// Kmsg has the messages of the kernel log; looking back matches them with Go's regular expressions.
	Kmsg []gpud.Message
	// Events are stored events, newest first. Events of checks are not added.
	Events []history.StoredEvent
	// Reboots, newest first.
	Reboots []time.Time
	// SetHealthyMarks, newest first.
	SetHealthyMarks []time.Time
	// NoStore makes history unavailable, as in "gpud scan".
	NoStore bool
	// HTTP answers HTTPGet; nil means that nobody listens.
	HTTP func(request net.Request) (*net.Response, error)
	// TCP answers TCPConnect; nil means that nobody listens.
	TCP func(host string, port uint16) (time.Duration, error)
	// GPUs in NVML's order. Nil means that there is no driver, an empty list that it found none.
	GPUs []GPU
	// DriverVersion of NVML; gpud.ErrNotSupported if empty.
	DriverVersion string
	// CUDAVersion of the driver; gpud.ErrNotSupported if 0.
	CUDAVersion uint32
	// Denied are capabilities that were not granted: sysfs, exec, net, nvml, kmsg, history or state.
	Denied map[string]bool
	// Log has the lines that were logged.
	Log []string
	// Context of the next check.
	Context gpud.Context
}

// New puts an empty machine behind the capabilities: 2026-01-01T00:00:00Z, boot "boot-1", component "test".
func New(t testing.TB) *Host {
	t.Helper()
	host := &Host{
		Files:       map[string]string{},
		Links:       map[string]string{},
		Errors:      map[string]error{},
		Stats:       map[string]sysfs.FileStat{},
		Filesystems: map[string]sysfs.Usage{},
		Config:      "{}",
		State:       map[string][]byte{},
		Denied:      map[string]bool{},
		Context: gpud.Context{
			Component: "test",
			Now:       time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
			Trigger:   gpud.TriggerScheduled,
			BootID:    "boot-1",
			BootTime:  time.Date(2025, 12, 31, 23, 0, 0, 0, time.UTC),
		},
	}
	oldSysfs, oldConfig, oldState := sysfs.SetBackend(files{host}), config.SetBackend(settings{host}),
		state.SetBackend(values{host})
	oldExec, oldKmsg, oldHistory := exec.SetBackend(programs{host}), kmsg.SetBackend(messages{host}),
		history.SetBackend(past{host})
	oldNet, oldLog := net.SetBackend(services{host}), log.SetBackend(lines{host})
	oldNVML := nvml.SetBackend(driver{host})
	t.Cleanup(func() {
		sysfs.SetBackend(oldSysfs)
		config.SetBackend(oldConfig)
		state.SetBackend(oldState)
		exec.SetBackend(oldExec)
		kmsg.SetBackend(oldKmsg)
		history.SetBackend(oldHistory)
		net.SetBackend(oldNet)
		log.SetBackend(oldLog)
		nvml.SetBackend(oldNVML)
	})
	return host
}

// Check runs one check.
func (h *Host) Check(checker gpud.Checker) (*gpud.Report, error) {
	return kept(h, func(ctx *gpud.Context) (*gpud.Report, error) { return checker.Check(ctx) })
}

// Scan runs one scan.
func (h *Host) Scan(scanner gpud.Scanner) (*gpud.Report, error) { return kept(h, scanner.Scan) }

// Deliver gives messages to a watcher.
func (h *Host) Deliver(watcher gpud.KmsgWatcher, messages ...gpud.Message) ([]*gpud.Event, error) {
	return kept(h, func(ctx *gpud.Context) ([]*gpud.Event, error) { return watcher.OnMessages(ctx, messages) })
}

// kept makes a call whose values stay only when it ends well.
func kept[T any](h *Host, call func(*gpud.Context) (T, error)) (T, error) {
	before := make(map[string][]byte, len(h.State))
	for key, value := range h.State {
		before[key] = value
	}
	ctx := h.Context
	answer, err := call(&ctx)
	if err != nil {
		h.State = before
	}
	return answer, err
}
