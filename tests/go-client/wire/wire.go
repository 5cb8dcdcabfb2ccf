// Package wire holds the bodies of GPUd's HTTP API as a Go program reads them.
//
// Times and durations are apimachinery's own types, since those decide what GPUd's users can decode:
// metav1.Time takes null or RFC 3339, metav1.Duration takes a Go duration string and nothing else.
package wire

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Names of health that the local API uses.
const (
	Healthy   = "Healthy"
	Unhealthy = "Unhealthy"
	Degraded  = "Degraded"
)

// States are the health states of one component.
type States struct {
	Component string  `json:"component"`
	States    []State `json:"states"`
}

// State is one health state.
type State struct {
	Time             metav1.Time       `json:"time"`
	Component        string            `json:"component,omitempty"`
	ComponentType    string            `json:"component_type,omitempty"`
	Name             string            `json:"name,omitempty"`
	RunMode          string            `json:"run_mode,omitempty"`
	Health           string            `json:"health,omitempty"`
	Reason           string            `json:"reason,omitempty"`
	Error            string            `json:"error,omitempty"`
	SuggestedActions *Actions          `json:"suggested_actions,omitempty"`
	ExtraInfo        map[string]string `json:"extra_info,omitempty"`
	RawOutput        string            `json:"raw_output,omitempty"`
}

// Actions are what a state asks the operator to do.
type Actions struct {
	Description   string   `json:"description"`
	RepairActions []string `json:"repair_actions"`
}

// Events are the events of one component. Start and end carry a zone and up to nine digits of a second.
type Events struct {
	Component string    `json:"component"`
	StartTime time.Time `json:"startTime"`
	EndTime   time.Time `json:"endTime"`
	Events    []Event   `json:"events"`
}

// Event is one stored event.
type Event struct {
	Component string      `json:"component,omitempty"`
	Time      metav1.Time `json:"time"`
	Name      string      `json:"name,omitempty"`
	Type      string      `json:"type,omitempty"`
	Message   string      `json:"message,omitempty"`
}

// Metrics are the samples of one component.
type Metrics struct {
	Component string   `json:"component"`
	Metrics   []Metric `json:"metrics"`
}

// Metric is one sample. UnixSeconds counts milliseconds, whatever its name says.
type Metric struct {
	UnixSeconds int64             `json:"unix_seconds"`
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Value       float64           `json:"value"`
}

// Info is all of the above about one component.
type Info struct {
	Component string    `json:"component"`
	StartTime time.Time `json:"startTime"`
	EndTime   time.Time `json:"endTime"`
	Info      struct {
		States  []State  `json:"states"`
		Events  []Event  `json:"events"`
		Metrics []Metric `json:"metrics"`
	} `json:"info"`
}

// SetHealthy is the answer to a set-healthy request.
type SetHealthy struct {
	Code       int               `json:"code"`
	Message    string            `json:"message"`
	Successful []string          `json:"successful,omitempty"`
	Failed     map[string]string `json:"failed,omitempty"`
}

// TagRun is the answer to a trigger by tag.
type TagRun struct {
	Components []string `json:"components"`
	Exit       int      `json:"exit"`
	Success    bool     `json:"success"`
}

// Package is one row of /admin/packages. TotalTime is in nanoseconds.
type Package struct {
	Name           string     `json:"name"`
	Skipped        bool       `json:"skipped"`
	IsInstalled    bool       `json:"is_installed"`
	Installing     bool       `json:"installing"`
	Progress       int        `json:"progress"`
	TotalTime      int64      `json:"total_time"`
	Status         bool       `json:"status"`
	TargetVersion  string     `json:"target_version"`
	CurrentVersion string     `json:"current_version"`
	ScriptPath     string     `json:"script_path"`
	Dependency     [][]string `json:"dependency"`
}
