package gpud

import "time"

// RunMode says when a component runs.
type RunMode string

// When a component runs.
const (
	// Auto: on its interval.
	Auto RunMode = "auto"
	// Manual: only when triggered.
	Manual RunMode = "manual"
)

// SetHealthyMode says what an operator's set-healthy does.
type SetHealthyMode string

// What an operator's set-healthy does.
const (
	// SetHealthyUnsupported: not offered.
	SetHealthyUnsupported SetHealthyMode = "unsupported"
	// SetHealthyClearsEvents: the component's stored events up to now are deleted, and it is checked at once.
	SetHealthyClearsEvents SetHealthyMode = "clears-events"
	// SetHealthyMarks: only a mark is recorded (see package history), and the component is checked at once.
	SetHealthyMarks SetHealthyMode = "marks"
)

// MetricDescription describes one metric that a component gives.
type MetricDescription struct {
	// Name is the full Prometheus name.
	Name string
	// Help text with the unit.
	Help string
	// Buckets are the upper bounds of a histogram's buckets, ascending; empty otherwise.
	Buckets []float64
}

// Component describes one component. Each is scheduled, limited and shown by itself.
type Component struct {
	// Name, unique on a machine: lower-case letters, digits, "-", ".", "_", "/"; 1 to 128 bytes.
	Name string
	// Description in one line.
	Description string
	// Tags for trigger-by-tag; at most 32. Empty: the name alone.
	Tags []string
	// Interval between two scheduled checks; zero means a minute; at least a second.
	Interval time.Duration
	// RunMode says when it runs; empty means Auto.
	RunMode RunMode
	// SetHealthy says what set-healthy does; empty means SetHealthyUnsupported.
	SetHealthy SetHealthyMode
	// Metrics that it gives.
	Metrics []MetricDescription
	// ConfigSchema is the JSON Schema of its configuration; empty if it takes none.
	ConfigSchema string
}

// Descriptor says what a plugin is.
type Descriptor struct {
	// Version of the plugin, for people.
	Version string
	// Components; at least one, at most 64.
	Components []Component
}

// NewDescriptor is a plugin of one component, checked every minute. Set what else there is to say in its Components.
func NewDescriptor(version, name, description string) *Descriptor {
	return &Descriptor{Version: version, Components: []Component{{Name: name, Description: description}}}
}
