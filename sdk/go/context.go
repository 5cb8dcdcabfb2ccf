package gpud

import "time"

// Trigger is why a check runs.
type Trigger string

// Why a check runs.
const (
	// TriggerStartup: the first check after the daemon started.
	TriggerStartup Trigger = "startup"
	// TriggerScheduled: its interval.
	TriggerScheduled Trigger = "scheduled"
	// TriggerManual: a person or a script asked.
	TriggerManual Trigger = "manual"
	// TriggerEvent: its own events were stored.
	TriggerEvent Trigger = "event"
	// TriggerSetHealthy: an operator set the component healthy.
	TriggerSetHealthy Trigger = "set-healthy"
)

// Context is what a call may know of the moment. Together with the answers of the capabilities it determines the
// report.
type Context struct {
	// Component of the descriptor that is meant.
	Component string
	// Now, in UTC, to the millisecond.
	Now time.Time
	// Trigger is why it runs.
	Trigger Trigger
	// BootID of the kernel; empty if unknown.
	BootID string
	// BootTime is when the machine booted; zero if unknown.
	BootTime time.Time
	// PreviousCheck is when this component was last checked in this daemon's life; zero if it was not.
	PreviousCheck time.Time
}

// Checker judges a component.
type Checker interface {
	// Check does one check. An *AccessError (wrapped or not) becomes a state that says which source did not answer;
	// any other error says that the checker itself failed.
	Check(ctx *Context) (*Report, error)
}

// Scanner judges the moment, without history, for "gpud scan" and manual triggers.
type Scanner interface {
	// Scan has one look. Errors are as those of Checker.
	Scan(ctx *Context) (*Report, error)
}

// Message is one record of the kernel log.
type Message struct {
	// Sequence number within this boot.
	Sequence uint64
	// Time of the record.
	Time time.Time
	// Level is the severity: 0 emergency, 1 alert, 2 critical, 3 error, 4 warning, 5 notice, 6 info, 7 debug.
	Level uint8
	// Facility: 0 kernel, 1 user, 3 daemon, 5 syslog and so on. What user space writes is never 0.
	Facility uint32
	// Text is the first line, with the escapes of the kernel decoded. Control characters but the tab appear as \xNN.
	Text string
	// Dictionary lines (SUBSYSTEM, DEVICE …); nil for most records.
	Dictionary []Pair
}

// KmsgWatcher watches the kernel log.
type KmsgWatcher interface {
	// Patterns are regular expressions (RE2 syntax) that pick the messages to deliver; at most 64.
	Patterns(component string) []string
	// OnMessages turns messages, oldest first, at most 512, into events. After an error the messages are delivered
	// again a few times before they are given up with a log line.
	OnMessages(ctx *Context, messages []Message) ([]*Event, error)
}
