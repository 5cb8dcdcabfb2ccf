package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gpud.internal/gpud"
)

const (
	metric  = "board_temperature_celsius"
	cooling = "Check fans, air flow and the temperature of the room."
)

// schema of the configuration.
const schema = `{"type": "object", "additionalProperties": false, "properties": {
  "warn": {"type": "number", "description": "Degraded from here on, degrees Celsius; 95 by default"},
  "critical": {"type": "number", "description": "Unhealthy from here on; 105 by default"},
  "sensors": {"type": "object", "maxProperties": 256,
    "description": "Limits of single sensors: {\"nvme/Composite\": {\"warn\": 70}}",
    "additionalProperties": {"type": "object", "additionalProperties": false, "properties": {
      "warn": {"type": "number"}, "critical": {"type": "number"}}}}}}`

// limits in degrees Celsius; nil means those of all sensors, or the usual ones.
type limits struct {
	Warn     *float64 `json:"warn"`
	Critical *float64 `json:"critical"`
}

// settings are what the operator configured.
type settings struct {
	limits
	Sensors map[string]limits `json:"sensors"`
}

// usual limits. Processors run at up to 100 degrees by design.
func usual() limits {
	warn, critical := 95.0, 105.0
	return limits{&warn, &critical}
}

func (l limits) or(other limits) limits {
	if l.Warn == nil {
		l.Warn = other.Warn
	}
	if l.Critical == nil {
		l.Critical = other.Critical
	}
	return l
}

func parseConfig(document []byte) (*settings, error) {
	var out settings
	decoder := json.NewDecoder(bytes.NewReader(document))
	if err := decoder.Decode(&out); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	out.limits = out.or(usual())
	if *out.Warn >= *out.Critical {
		return nil, errors.New("config: warn has to be less than critical")
	}
	for key, own := range out.Sensors {
		own = own.or(out.limits)
		if *own.Warn >= *own.Critical {
			return nil, fmt.Errorf("config: %s: warn has to be less than critical", gpud.Truncate(key, 100))
		}
		out.Sensors[key] = own
	}
	return &out, nil
}

// hot has the sensors that are not Healthy.
type hot map[string]gpud.Health

func restore(saved []byte) hot {
	out := hot{}
	for line := range strings.Lines(string(saved)) {
		level, key, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch level {
		case "w":
			out[key] = gpud.Degraded
		case "c":
			out[key] = gpud.Unhealthy
		}
	}
	return out
}

func (h hot) save() []byte {
	var lines []string
	for key, level := range h {
		if level == gpud.Unhealthy {
			lines = append(lines, "c "+key+"\n")
		} else {
			lines = append(lines, "w "+key+"\n")
		}
	}
	slices.Sort(lines)
	return []byte(strings.Join(lines, ""))
}

// judge judges readings. before has the sensors that were too hot at the last check; the answer, those that are now.
func judge(ctx *gpud.Context, config *settings, found []sensor, before hot) (*gpud.Report, hot) {
	after := hot{}
	if len(found) == 0 && len(config.Sensors) == 0 {
		return gpud.UnsupportedReport(ctx, "no temperature sensor on this machine"), after
	}
	var (
		results  []gpud.Result
		events   []*gpud.Event
		hottest  *sensor
		readable = map[string]bool{}
	)
	for i := range found {
		one := &found[i]
		key := one.key()
		was, known := before[key]
		if !known {
			was = gpud.Healthy
		}
		is := was // A sensor that cannot be read stays what it was: no second event when it can be again.
		if one.readable {
			readable[key] = true
			if hottest == nil || one.value > hottest.value {
				hottest = one
			}
			of, own := config.Sensors[key]
			if !own {
				of = config.limits
			}
			result := reading(one, of)
			is = result.Health
			results = append(results, result)
			if is != was {
				events = append(events, crossing(ctx, result))
			}
		}
		if is != gpud.Healthy {
			after[key] = is
		}
	}
	for _, key := range missing(config, readable) {
		why := "no such sensor"
		if slices.ContainsFunc(found, func(one sensor) bool { return one.key() == key }) {
			why = "cannot be read"
		}
		results = append(results, gpud.Result{Name: key, Health: gpud.Degraded, Reason: why})
	}
	report := gpud.Judge(ctx, results, healthy(len(readable), hottest))
	report.Events = events
	for _, one := range found {
		if one.readable {
			report.AddGauge(metric, one.value, "chip", one.chip, "sensor", one.name)
		}
	}
	verdict := report.States[0]
	if len(readable) == 0 && verdict.Health == gpud.Healthy {
		verdict.Health = gpud.Degraded
		verdict.Reason = fmt.Sprintf("none of %d temperature sensors can be read", len(found))
	}
	if blind := len(found) - len(readable); blind > 0 {
		verdict.WithInfo("unreadable", fmt.Sprintf("%d of %d", blind, len(found)))
	}
	return report, after
}

func healthy(readable int, hottest *sensor) string {
	if hottest == nil {
		return ""
	}
	return fmt.Sprintf("%d sensors, hottest is %s with %.1f °C", readable, hottest.key(), hottest.value)
}

// reading judges one reading.
func reading(one *sensor, of limits) gpud.Result {
	result := gpud.Result{Name: one.key(), Path: one.path, Action: gpud.HardwareInspection, Advice: cooling}
	switch {
	case one.value >= *of.Critical:
		result.Health = gpud.Unhealthy
		result.Reason = fmt.Sprintf("%.1f °C, critical is %.1f °C", one.value, *of.Critical)
	case one.value >= *of.Warn:
		result.Health = gpud.Degraded
		result.Reason = fmt.Sprintf("%.1f °C, warning is %.1f °C", one.value, *of.Warn)
	default:
		result.Health = gpud.Healthy
		result.Reason = fmt.Sprintf("%.1f °C, below %.1f °C again", one.value, *of.Warn)
	}
	return result
}

func crossing(ctx *gpud.Context, result gpud.Result) *gpud.Event {
	name, severity := "temperature_normal", gpud.Info
	switch result.Health {
	case gpud.Unhealthy:
		name, severity = "temperature_critical", gpud.Critical
	case gpud.Degraded:
		name, severity = "temperature_warning", gpud.Warning
	}
	return gpud.NewEvent(ctx, name, severity, result.Name+": "+result.Reason).
		WithSubject(gpud.OtherSubject{Kind: "sensor", Which: result.Name}).
		WithEvidence(gpud.File(result.Path))
}

// missing lists configured sensors that gave no reading.
func missing(config *settings, readable map[string]bool) []string {
	var out []string
	for key := range config.Sensors {
		if !readable[key] {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}
