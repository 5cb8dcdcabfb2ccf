// Package gpud is for writing gpud checkers in Go.
//
// A checker is a type with a Check method and one line that exports it:
//
//	package main
//
//	import (
//		"gpud.internal/gpud"
//		"gpud.internal/gpud/export/checker"
//		"gpud.internal/gpud/sysfs"
//	)
//
//	type uptime struct{}
//
//	func (uptime) Check(ctx *gpud.Context) (*gpud.Report, error) {
//		text, err := sysfs.ReadString("/proc/uptime", 4096)
//		if err != nil {
//			return nil, err // a capability error becomes an honest state
//		}
//		return gpud.ReportOf(gpud.HealthyState(ctx, "up for "+text)), nil
//	}
//
//	func init() {
//		checker.Export(uptime{}, gpud.NewDescriptor("0.1.0", "uptime", "How long the machine has been up"))
//	}
//
//	func main() {}
//
// "gpud plugin build" makes a component of it (with cmd/gpud-go). What it may touch is decided by the operator's
// grants; what it imports is what it asks for, and only packages that it uses are imported: sysfs, config, state,
// history, kmsg, exec, net, nvml and log.
//
// Every call runs in a fresh instance. Package initialisation has been run when the component was built: it sees no
// capability, and its result is the same in every call. What must survive a call goes through package state.
// Context.Now is the only clock: time.Now counts readings, and time.Sleep returns at once.
//
// A native build has no host behind the capabilities: package gpudtest gives a fake one to unit tests.
package gpud
