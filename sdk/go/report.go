package gpud

import (
	"cmp"
	"slices"
	"time"
)

// EventType says how serious an event is. A word that is none of the constants is served as Unknown.
type EventType string

// How serious an event is.
const (
	// Unknown: not classified.
	Unknown EventType = "unknown"
	// Info: for the record.
	Info EventType = "info"
	// Warning: worth a look.
	Warning EventType = "warning"
	// Critical: harms work.
	Critical EventType = "critical"
	// Fatal: the device or the machine cannot go on.
	Fatal EventType = "fatal"
)

// MergeRule counts repeats of an event instead of storing them: events of one component with the same name and key
// whose times fall into the same window are one row with a count and a last time.
type MergeRule struct {
	// Key makes two events the same, for example the raw kernel text; at most 16 KiB.
	Key string
	// WindowSeconds is the length of the window, at least 1.
	WindowSeconds uint32
}

// Event is something that happened: a transition, not a condition.
type Event struct {
	// Time when it happened; not more than 5 minutes in the future.
	Time time.Time
	// Name, for example sensor_critical; at most 128 bytes, not empty.
	Name string
	// Type is the severity.
	Type EventType
	// Message for a person; may be empty; at most 4 KiB.
	Message string
	// Subject is what it is about, or nil.
	Subject Subject
	// Evidence is what it was drawn from; at most 64.
	Evidence []Evidence
	// ExtraInfo are facts kept with it, given back by package history.
	ExtraInfo []Pair
	// Merge says how repeats are counted. Without it, equal events of one second are one.
	Merge *MergeRule
}

// NewEvent is an event of this moment.
func NewEvent(ctx *Context, name string, severity EventType, message string) *Event {
	return &Event{Time: ctx.Now, Name: name, Type: severity, Message: message}
}

// MergedBy counts repeats with the same key within a window instead of storing them.
func (e *Event) MergedBy(key string, windowSeconds uint32) *Event {
	e.Merge = &MergeRule{Key: key, WindowSeconds: windowSeconds}
	return e
}

// WithSubject says what it is about.
func (e *Event) WithSubject(subject Subject) *Event {
	e.Subject = subject
	return e
}

// WithEvidence adds what it was drawn from.
func (e *Event) WithEvidence(evidence ...Evidence) *Event {
	e.Evidence = append(e.Evidence, evidence...)
	return e
}

// MetricKind says how a metric's value is to be understood.
type MetricKind string

// How a metric's value is to be understood.
const (
	// Gauge: the value as it is now.
	Gauge MetricKind = "gauge"
	// Counter: an amount, not negative, to add to a count that the host keeps; a guest starts afresh at every call.
	Counter MetricKind = "counter"
	// Histogram: one observation for a histogram that the host keeps; its buckets stand in the descriptor.
	Histogram MetricKind = "histogram"
)

// Metric is one sample. The host adds the label gpud_component.
type Metric struct {
	// Name is the full Prometheus name with its unit, for example cpu_used_percent.
	Name string
	// Labels; at most 16.
	Labels []Pair
	// Value, finite.
	Value float64
	// Kind says how to understand it.
	Kind MetricKind
}

// fewMetrics is how many there is room for at first: repeated growth is expensive in a short call.
const fewMetrics = 8

// Report is what one check found.
type Report struct {
	// Unsupported: this machine has nothing for this checker to watch. The component is then hidden from states,
	// events and info, but stays in the list of components and can be triggered.
	Unsupported bool
	// States are the verdicts; at least one unless Unsupported.
	States []*State
	// Events are transitions seen by this check.
	Events []*Event
	// Metrics are readings.
	Metrics []Metric
}

// ReportOf is a report of these states.
func ReportOf(states ...*State) *Report { return &Report{States: states} }

// UnsupportedReport says why this machine has nothing for this checker to watch.
func UnsupportedReport(ctx *Context, reason string) *Report {
	return &Report{Unsupported: true, States: []*State{HealthyState(ctx, reason)}}
}

// AddEvent adds an event.
func (r *Report) AddEvent(event *Event) *Report {
	r.Events = append(r.Events, event)
	return r
}

// AddGauge adds a gauge; labels are names and values in turn, and an odd last name is left out.
func (r *Report) AddGauge(name string, value float64, labels ...string) *Report {
	return r.AddMetric(name, value, Gauge, labels...)
}

// AddMetric adds a metric of any kind, with labels as AddGauge has them.
func (r *Report) AddMetric(name string, value float64, kind MetricKind, labels ...string) *Report {
	metric := Metric{Name: name, Value: value, Kind: kind, Labels: make([]Pair, 0, len(labels)/2)}
	for ; len(labels) >= 2; labels = labels[2:] {
		metric.Labels = append(metric.Labels, Pair{labels[0], labels[1]})
	}
	if r.Metrics == nil {
		r.Metrics = make([]Metric, 0, fewMetrics)
	}
	r.Metrics = append(r.Metrics, metric)
	return r
}

// Result is what one look at one thing gave: the plain value that Judge makes a report of.
type Result struct {
	// Name of the thing, for example a sensor; becomes the part of the reason before the colon.
	Name string
	// Health of the thing.
	Health Health
	// Reason in words, without the name.
	Reason string
	// Action for an operator, if any, with a word of Advice about it.
	Action RepairAction
	// Advice in words; may be empty.
	Advice string
	// Path of the file that the result was drawn from; may be empty.
	Path string
}

// Judge turns plain results into a report of one state: as healthy as the worst of them, with the reasons of those that
// are not healthy, worst first (the first five in words, the rest as a number), their actions, and their files as
// evidence. Without any that is not healthy, the reason is the given one.
func Judge(ctx *Context, results []Result, healthy string) *Report {
	state := HealthyState(ctx, healthy)
	var wrong []Result
	for _, result := range results {
		if result.Health != Healthy {
			wrong = append(wrong, result)
		}
	}
	slices.SortStableFunc(wrong, func(a, b Result) int { return cmp.Compare(b.Health.severity(), a.Health.severity()) })
	reasons := make([]string, 0, maxReasons)
	for _, result := range wrong[:min(len(wrong), maxReasons)] {
		state.Health = state.Health.Worse(result.Health)
		reasons = append(reasons, result.Name+": "+result.Reason)
		if result.Action != "" && !state.suggests(result.Action) {
			state.WithAction(result.Action, result.Advice)
		}
		if result.Path != "" {
			state.WithEvidence(File(result.Path))
		}
	}
	if len(wrong) > 0 {
		state.Reason = joinReasons(reasons, len(wrong)-len(reasons))
	}
	return ReportOf(state)
}
