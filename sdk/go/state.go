package gpud

import "time"

// Health says how healthy something is. A word that is none of the constants is passed on; a host that does not know
// it treats it as not healthy.
type Health string

// How healthy something is.
const (
	// Healthy: working as it should.
	Healthy Health = "healthy"
	// Degraded: working, but something needs attention.
	Degraded Health = "degraded"
	// Unhealthy: not working, or not to be trusted with work.
	Unhealthy Health = "unhealthy"
	// Initializing: not judged yet.
	Initializing Health = "initializing"
)

// severity orders health: the larger, the worse.
func (h Health) severity() int {
	switch h {
	case Healthy:
		return 0
	case Initializing:
		return 1
	case Degraded:
		return 2
	}
	return 3
}

// Worse gives the worse of two.
func (h Health) Worse(other Health) Health {
	if other.severity() > h.severity() {
		return other
	}
	return h
}

// RepairAction is what an operator should do. Words of one's own are shown as they are.
type RepairAction string

// What an operator should do.
const (
	// IgnoreNoActionRequired: nothing.
	IgnoreNoActionRequired RepairAction = "IGNORE_NO_ACTION_REQUIRED"
	// RebootSystem: reboot the machine.
	RebootSystem RepairAction = "REBOOT_SYSTEM"
	// HardwareInspection: have the hardware looked at.
	HardwareInspection RepairAction = "HARDWARE_INSPECTION"
	// CheckUserAppAndGPU: check the user's application and the GPU that it used.
	CheckUserAppAndGPU RepairAction = "CHECK_USER_APP_AND_GPU"
)

// SuggestedActions is what to do, in words and as actions.
type SuggestedActions struct {
	// Description is free text; may be empty.
	Description string
	// RepairActions, most important first; at most 16.
	RepairActions []RepairAction
}

// Pair is a key and a value. In lists of pairs a key appears once.
type Pair struct {
	// Key of the pair.
	Key string
	// Value of the pair.
	Value string
}

// Recovery is a way in which a verdict that is not healthy clears. Any listed way is enough. The zero value is the
// next good reading.
type Recovery struct {
	word string
	at   time.Time
}

// How a verdict clears.
var (
	// NextGoodReading: the next reading that is good.
	NextGoodReading = Recovery{word: "next-good-reading"}
	// Reboot: a reboot of the machine.
	Reboot = Recovery{word: "reboot"}
	// SetHealthy: an operator's set-healthy; always possible for a latched state, listed or not.
	SetHealthy = Recovery{word: "set-healthy"}
)

// ClearsAt is recovery at a moment.
func ClearsAt(moment time.Time) Recovery { return Recovery{word: "at", at: moment} }

// OtherRecovery is a way of a later version of the contract; the host treats it as set-healthy.
func OtherRecovery(word string) Recovery { return Recovery{word: word} }

// Word of the contract for this way: next-good-reading, reboot, at, set-healthy, or another.
func (r Recovery) Word() string {
	if r.word == "" {
		return NextGoodReading.word
	}
	return r.word
}

// Moment of a way made by ClearsAt; otherwise zero.
func (r Recovery) Moment() time.Time { return r.at }

// State is one verdict. Make it with NewState, HealthyState, DegradedState or UnhealthyState.
type State struct {
	// Name is usually the component's; empty leaves it out.
	Name string
	// Time when it was judged; zero for states drawn from stored events.
	Time time.Time
	// Health is the verdict.
	Health Health
	// Reason is one line for a person; at most 4 KiB.
	Reason string
	// Error is the technical error behind the verdict; empty leaves it out.
	Error string
	// SuggestedActions, or nil.
	SuggestedActions *SuggestedActions
	// Subject is what it is about when it is not the whole component, or nil.
	Subject Subject
	// Recovery lists how it clears. Empty means: the next good reading.
	Recovery []Recovery
	// Latch makes the host go on showing this state after later checks stop reporting it, also across restarts, until
	// a way of Recovery or an operator's set-healthy clears it.
	Latch bool
	// Evidence is what it was drawn from; at most 64.
	Evidence []Evidence
	// ExtraInfo are facts shown with it. Built-in checkers put one JSON document under the key "data".
	ExtraInfo []Pair
}

// NewState is a verdict under the component's name, judged now.
func NewState(ctx *Context, health Health, reason string) *State {
	return &State{Name: ctx.Component, Time: ctx.Now, Health: health, Reason: reason}
}

// HealthyState says that all is well.
func HealthyState(ctx *Context, reason string) *State { return NewState(ctx, Healthy, reason) }

// DegradedState is for what works but needs attention.
func DegradedState(ctx *Context, reason string) *State { return NewState(ctx, Degraded, reason) }

// UnhealthyState is for what is not to be trusted with work.
func UnhealthyState(ctx *Context, reason string) *State { return NewState(ctx, Unhealthy, reason) }

// WithError adds the technical error behind the verdict.
func (s *State) WithError(err error) *State {
	if err != nil {
		s.Error = err.Error()
	}
	return s
}

// WithAction adds an action to take; the first description that is given is shown.
func (s *State) WithAction(action RepairAction, description string) *State {
	if s.SuggestedActions == nil {
		s.SuggestedActions = &SuggestedActions{Description: description}
	}
	s.SuggestedActions.RepairActions = append(s.SuggestedActions.RepairActions, action)
	return s
}

// WithSubject says what it is about.
func (s *State) WithSubject(subject Subject) *State {
	s.Subject = subject
	return s
}

// WithEvidence adds what it was drawn from.
func (s *State) WithEvidence(evidence ...Evidence) *State {
	s.Evidence = append(s.Evidence, evidence...)
	return s
}

// WithInfo adds a fact that is shown beside it.
func (s *State) WithInfo(key, value string) *State {
	s.ExtraInfo = append(s.ExtraInfo, Pair{key, value})
	return s
}

// ClearsBy adds a way in which it clears.
func (s *State) ClearsBy(way Recovery) *State {
	s.Recovery = append(s.Recovery, way)
	return s
}

// Latched makes the host keep it until a way of Recovery comes true.
func (s *State) Latched() *State {
	s.Latch = true
	return s
}
