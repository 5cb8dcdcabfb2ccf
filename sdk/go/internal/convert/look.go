//go:build wasip1

package convert

import (
	"gpud.internal/gpud"
	"gpud.internal/gpud/internal/wit/gpud_plugin_types"
	"gpud.internal/gpud/internal/witrt"
)

// Look makes a check or a scan.
func Look(
	with func(*gpud.Context) (*gpud.Report, error), from gpud_plugin_types.CheckContext,
) witrt.Result[gpud_plugin_types.Report, gpud_plugin_types.CheckError] {
	report, err := with(Context(from))
	switch {
	case err != nil:
		return witrt.Err[gpud_plugin_types.Report](CheckError(err))
	case report == nil:
		failed := gpud_plugin_types.MakeCheckErrorFailed("neither a report nor an error")
		return witrt.Err[gpud_plugin_types.Report](failed)
	}
	return witrt.Ok[gpud_plugin_types.Report, gpud_plugin_types.CheckError](Report(report))
}
