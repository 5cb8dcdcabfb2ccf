package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
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

// complete fills in what the operator left open.
func (s *settings) complete() error {
	s.limits = s.or(usual())
	if *s.Warn >= *s.Critical {
		return errors.New("config: warn has to be less than critical")
	}
	for key, own := range s.Sensors {
		own = own.or(s.limits)
		if *own.Warn >= *own.Critical {
			return fmt.Errorf("config: %s: warn has to be less than critical", gpud.Truncate(key, 100))
		}
		s.Sensors[key] = own
	}
	return nil
}

// of gives the limits of a sensor.
func (s *settings) of(key string) limits {
	if own, found := s.Sensors[key]; found {
		return own
	}
	return s.limits
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
		readable int
	)
	for i := range found {
		one := &found[i]
		was := cmp.Or(before[one.key], gpud.Healthy)
		is := was // A sensor that cannot be read stays what it was: no second event when it can be again.
		if one.readable {
			readable++
			if hottest == nil || one.value > hottest.value {
				hottest = one
			}
			of := config.of(one.key)
			is = of.health(one.value)
			// Most sensors are fine and were before: nothing is said of them.
			if is != gpud.Healthy || is != was {
				result := reading(one, is, of)
				results = append(results, result)
				if is != was {
					events = append(events, crossing(ctx, result))
				}
			}
		}
		if is != gpud.Healthy {
			after[one.key] = is
		}
	}
	results = append(results, missing(config, found)...)
	report := gpud.Judge(ctx, results, healthy(readable, hottest))
	report.Events = events
	for i := range found {
		if one := &found[i]; one.readable {
			report.AddGauge(metric, one.value, "chip", one.chip, "sensor", one.name)
		}
	}
	verdict := report.States[0]
	if readable == 0 && verdict.Health == gpud.Healthy {
		verdict.Health = gpud.Degraded
		verdict.Reason = fmt.Sprintf("none of %d temperature sensors can be read", len(found))
	}
	if blind := len(found) - readable; blind > 0 {
		verdict.WithInfo("unreadable", fmt.Sprintf("%d of %d", blind, len(found)))
	}
	return report, after
}

// degrees in words. In a run this short fmt.Sprintf would be among what takes longest.
func degrees(value float64) string { return strconv.FormatFloat(value, 'f', 1, 64) + " °C" }

func healthy(readable int, hottest *sensor) string {
	if hottest == nil {
		return ""
	}
	return strconv.Itoa(readable) + " sensors, hottest is " + hottest.key + " with " + degrees(hottest.value)
}

func (l limits) health(value float64) gpud.Health {
	switch {
	case value >= *l.Critical:
		return gpud.Unhealthy
	case value >= *l.Warn:
		return gpud.Degraded
	}
	return gpud.Healthy
}

// reading puts one reading into words.
func reading(one *sensor, is gpud.Health, of limits) gpud.Result {
	result := gpud.Result{
		Name: one.key, Health: is, Path: one.path, Action: gpud.HardwareInspection, Advice: cooling}
	switch is {
	case gpud.Unhealthy:
		result.Reason = degrees(one.value) + ", critical is " + degrees(*of.Critical)
	case gpud.Degraded:
		result.Reason = degrees(one.value) + ", warning is " + degrees(*of.Warn)
	default:
		result.Reason = degrees(one.value) + ", below " + degrees(*of.Warn) + " again"
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

// missing are configured sensors that gave no reading.
func missing(config *settings, found []sensor) []gpud.Result {
	var out []gpud.Result
	for key := range config.Sensors {
		at := slices.IndexFunc(found, func(one sensor) bool { return one.key == key })
		switch {
		case at < 0:
			out = append(out, gpud.Result{Name: key, Health: gpud.Degraded, Reason: "no such sensor"})
		case !found[at].readable:
			out = append(out, gpud.Result{Name: key, Health: gpud.Degraded, Reason: "cannot be read"})
		}
	}
	slices.SortFunc(out, func(a, b gpud.Result) int { return strings.Compare(a.Name, b.Name) })
	return out
}
