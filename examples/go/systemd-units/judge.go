package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"gpud.internal/gpud"
)

const (
	metricActive   = "systemd_unit_active"
	metricRestarts = "systemd_unit_restarts"
	maxUnits       = 128
)

// schema of the configuration.
const schema = `{"type": "object", "additionalProperties": false, "properties": {
  "units": {"type": "array", "maxItems": 128, "description": "Units that should be active, such as sshd.service",
    "items": {"anyOf": [
      {"type": "string", "minLength": 1},
      {"type": "object", "additionalProperties": false, "required": ["name"], "properties": {
        "name": {"type": "string", "minLength": 1},
        "optional": {"type": "boolean", "description": "It is fine when the unit is not installed"},
        "max_restarts": {"type": "integer", "minimum": 0,
          "description": "Restarts from one check to the next that are still fine; 0 by default"}}}]}}}}`

// wanted is what the operator says of one unit; in JSON, an object or just the name.
type wanted struct {
	Name        string `json:"name"`
	Optional    bool   `json:"optional"`
	MaxRestarts uint64 `json:"max_restarts"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (w *wanted) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte{'"'}) {
		return json.Unmarshal(text, &w.Name)
	}
	type plain wanted
	return json.Unmarshal(text, (*plain)(w))
}

// settings are what the operator configured.
type settings struct {
	Units []wanted `json:"units"`
}

func (s *settings) names() []string {
	var out []string
	for _, one := range s.Units {
		out = append(out, one.Name)
	}
	return out
}

func parseConfig(document []byte) (*settings, error) {
	var out settings
	if err := json.Unmarshal(document, &out); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	if len(out.Units) > maxUnits {
		return nil, fmt.Errorf("config: %d units are more than %d", len(out.Units), maxUnits)
	}
	for i := range out.Units {
		one := &out.Units[i]
		if one.Name == "" || strings.ContainsAny(one.Name, "*?[ \n") {
			return nil, errors.New("config: a unit without a name, or with a pattern for one")
		}
		if !strings.Contains(one.Name, ".") {
			one.Name += ".service"
		}
	}
	return &out, nil
}

// finding is what is remembered of a unit.
type finding struct {
	Health   gpud.Health `json:"health"`
	Restarts uint64      `json:"restarts"`
}

// remembered has findings by the configured name.
type remembered map[string]finding

// judge judges units. before is what the last check gave back.
func judge(ctx *gpud.Context, config *settings, units []unit, before remembered) (*gpud.Report, remembered) {
	var (
		results []gpud.Result
		events  []*gpud.Event
		report  gpud.Report
	)
	after := remembered{}
	for _, want := range config.Units {
		found := unit{ID: want.Name, Load: "not-found"}
		for _, one := range units {
			if one.called(want.Name) {
				found = one
				break
			}
		}
		was, known := before[want.Name]
		result := one(want, found, was, known)
		results = append(results, result)
		if event := change(ctx, want.Name, result, was, known); event != nil {
			events = append(events, event)
		}
		after[want.Name] = finding{result.Health, found.Restarts}
		if found.Load != "not-found" {
			active := 0.0
			if found.Active == "active" || found.Active == "reloading" {
				active = 1
			}
			report.AddGauge(metricActive, active, "unit", want.Name)
			report.AddGauge(metricRestarts, float64(found.Restarts), "unit", want.Name)
		}
	}
	out := gpud.Judge(ctx, results, fmt.Sprintf("%d units as they should be", len(results)))
	out.Events, out.Metrics = events, report.Metrics
	return out, after
}

// one judges one unit.
func one(want wanted, found unit, was finding, known bool) gpud.Result {
	result := gpud.Result{Name: want.Name, Health: gpud.Healthy, Reason: found.Active + " (" + found.Sub + ")"}
	switch {
	case found.Load == "not-found" && want.Optional:
		result.Reason = "not installed"
	case found.Load == "not-found":
		result.Health, result.Reason = gpud.Unhealthy, "not installed"
	case found.Load == "masked":
		result.Health, result.Reason = gpud.Unhealthy, "masked: somebody forbade it to start"
	case found.Active == "failed":
		result.Health, result.Reason = gpud.Unhealthy, "failed ("+found.Result+")"
	case found.Active == "activating" && found.Sub != "auto-restart":
		// It may take its time to start: worth a look only when it does so at two checks in a row.
		if known && was.Health != gpud.Healthy {
			result.Health, result.Reason = gpud.Degraded, "still starting ("+found.Sub+")"
		} else if known {
			result.Health, result.Reason = gpud.Initializing, "starting ("+found.Sub+")"
		}
	case found.Active != "active" && found.Active != "reloading":
		result.Health = gpud.Unhealthy
	}
	if more := found.Restarts - was.Restarts; known && result.Health == gpud.Healthy && found.Restarts > was.Restarts &&
		more > want.MaxRestarts {
		result.Health = gpud.Degraded
		result.Reason = fmt.Sprintf("restarted %d times since the last check", more)
	}
	return result
}

// change is the event of a unit whose health is another than at the last check, if it is.
func change(ctx *gpud.Context, name string, result gpud.Result, was finding, known bool) *gpud.Event {
	if !known {
		was.Health = gpud.Healthy
	}
	if result.Health == was.Health || result.Health == gpud.Initializing {
		return nil
	}
	kind, severity := "unit_recovered", gpud.Info
	switch result.Health {
	case gpud.Unhealthy:
		kind, severity = "unit_down", gpud.Critical
	case gpud.Degraded:
		kind, severity = "unit_unstable", gpud.Warning
	}
	return gpud.NewEvent(ctx, kind, severity, name+": "+result.Reason).WithSubject(gpud.Unit(name))
}
