package gpud

import (
	"errors"
	"io/fs"
	"strconv"
	"time"
)

// Why a source of the machine gave no answer. Use them with errors.Is on what a capability returned.
var (
	// ErrDenied: not granted by the operator (the text names the line to add), or refused by the kernel.
	ErrDenied = errors.New("permission denied")
	// ErrNotSupported: the source exists but cannot do this.
	ErrNotSupported = errors.New("not supported")
	// ErrNotFound: the file, program, device or library is not there.
	ErrNotFound = errors.New("not found")
	// ErrTooLarge: the answer is larger than allowed; nothing of it is given.
	ErrTooLarge = errors.New("too large")
	// ErrTimedOut: no answer in time.
	ErrTimedOut = errors.New("timed out")
	// ErrSourceLost: the device behind the source is gone.
	ErrSourceLost = errors.New("lost")
	// ErrNeedsReset: the device behind the source wants a reset.
	ErrNeedsReset = errors.New("needs a reset")
	// ErrInvalidArgument: the argument cannot be used.
	ErrInvalidArgument = errors.New("invalid argument")
	// ErrOverBudget: this call's budget of host calls or bytes is spent.
	ErrOverBudget = errors.New("over budget")
	// ErrOther: anything else.
	ErrOther = errors.New("no answer")
)

// AccessError says which source of the machine did not answer, and why. Trouble with a source is not trouble with the
// node: return it from Check (wrapped with %w or not), and the host says so honestly, instead of calling the node
// healthy or broken.
type AccessError struct {
	// Kind is one of ErrDenied, ErrNotSupported and so on.
	Kind error
	// What was asked; for ErrInvalidArgument, ErrOverBudget and ErrOther the whole text.
	What string
	// Size of an answer that was ErrTooLarge, in bytes or entries, at least as far as it was counted.
	Size uint64
	// Limit that Size broke.
	Limit uint64
	// After is how long was waited before ErrTimedOut.
	After time.Duration
	// LastGood is when a source that is ErrTimedOut last answered; zero if it never did.
	LastGood time.Time
}

// Error gives the error in words, as the host words it.
func (e *AccessError) Error() string {
	switch e.Kind {
	case ErrInvalidArgument, ErrOverBudget, ErrOther, nil:
		return e.What
	case ErrTooLarge:
		size, limit := strconv.FormatUint(e.Size, 10), strconv.FormatUint(e.Limit, 10)
		return e.What + ": " + size + " is more than the limit of " + limit
	case ErrTimedOut:
		return e.What + ": no answer for " + strconv.FormatInt(e.After.Milliseconds(), 10) + " ms"
	}
	return e.What + ": " + e.Kind.Error()
}

// Unwrap gives the kind, for errors.Is.
func (e *AccessError) Unwrap() error { return e.Kind }

// Is lets the errors of package io/fs stand for the two that they share with files.
func (e *AccessError) Is(target error) bool {
	return target == fs.ErrNotExist && e.Kind == ErrNotFound || target == fs.ErrPermission && e.Kind == ErrDenied
}
