// Command systemd-units is a checker: are the services that this machine is for running, and do they stay up? This file
// asks; units.go reads what systemctl prints, judge.go decides.
package main

import (
	"errors"
	"time"

	"gpud.internal/gpud"
	"gpud.internal/gpud/config"
	"gpud.internal/gpud/exec"
	"gpud.internal/gpud/export/checker"
	"gpud.internal/gpud/state"
)

const (
	timeout   = 15 * time.Second
	maxOutput = 512 << 10
	// rememberedKey is where the findings of the last check are kept.
	rememberedKey = "units"
)

type systemdUnits struct{}

// Check implements gpud.Checker.
func (systemdUnits) Check(ctx *gpud.Context) (*gpud.Report, error) {
	settings, err := parseConfig([]byte(config.Document()))
	if err != nil {
		return nil, err
	}
	if len(settings.Units) == 0 {
		return gpud.UnsupportedReport(ctx, "no units configured"), nil
	}
	arguments := append([]string{"show", "--no-pager", "--property=" + properties, "--"}, settings.names()...)
	output, err := exec.RunProgram("systemctl", arguments, exec.Options{Timeout: timeout, MaxOutputBytes: maxOutput})
	if errors.Is(err, gpud.ErrNotFound) {
		return gpud.UnsupportedReport(ctx, "no systemd on this machine"), nil
	}
	if err != nil {
		return nil, err
	}
	units, err := parse(output)
	if errors.Is(err, errNoSystemd) {
		return gpud.UnsupportedReport(ctx, "systemd does not run this machine"), nil
	}
	if err != nil {
		return nil, err
	}
	before := remembered{}
	if _, err := state.GetJSON(rememberedKey, &before); err != nil {
		return nil, err
	}
	report, after := judge(ctx, settings, units, before)
	return report, state.SetJSON(rememberedKey, after)
}

func init() {
	descriptor := gpud.NewDescriptor("0.1.0", "systemd-units", "Services that should run, and how often they restart")
	descriptor.Components[0].ConfigSchema = schema
	descriptor.Components[0].Metrics = []gpud.MetricDescription{
		{Name: metricActive, Help: "1 while the unit is active, else 0"},
		{Name: metricRestarts, Help: "Restarts of the unit since it was loaded"},
	}
	checker.Export(systemdUnits{}, descriptor)
}

func main() {}
