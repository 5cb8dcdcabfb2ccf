//go:build wasip1

// Package convert goes between the SDK's types and those of the generated bindings.
package convert

import (
	"errors"
	"time"

	"gpud.internal/gpud"
	"gpud.internal/gpud/internal/wit/gpud_plugin_types"
	"gpud.internal/gpud/internal/witrt"
)

// Err makes an error of the host's.
func Err(from gpud_plugin_types.AccessError) error {
	switch from.Tag() {
	case gpud_plugin_types.AccessError_Denied:
		return &gpud.AccessError{Kind: gpud.ErrDenied, What: from.Denied()}
	case gpud_plugin_types.AccessError_NotSupported:
		return &gpud.AccessError{Kind: gpud.ErrNotSupported, What: from.NotSupported()}
	case gpud_plugin_types.AccessError_NotFound:
		return &gpud.AccessError{Kind: gpud.ErrNotFound, What: from.NotFound()}
	case gpud_plugin_types.AccessError_TooLarge:
		info := from.TooLarge()
		return &gpud.AccessError{Kind: gpud.ErrTooLarge, What: info.What, Size: info.Size, Limit: info.Limit}
	case gpud_plugin_types.AccessError_TimedOut:
		info := from.TimedOut()
		out := &gpud.AccessError{Kind: gpud.ErrTimedOut, What: info.What, After: milliseconds(info.AfterMs)}
		if info.LastGood.Tag() == witrt.OptionSome {
			out.LastGood = Time(info.LastGood.Some())
		}
		return out
	case gpud_plugin_types.AccessError_SourceLost:
		return &gpud.AccessError{Kind: gpud.ErrSourceLost, What: from.SourceLost()}
	case gpud_plugin_types.AccessError_NeedsReset:
		return &gpud.AccessError{Kind: gpud.ErrNeedsReset, What: from.NeedsReset()}
	case gpud_plugin_types.AccessError_InvalidArgument:
		return &gpud.AccessError{Kind: gpud.ErrInvalidArgument, What: from.InvalidArgument()}
	case gpud_plugin_types.AccessError_OverBudget:
		return &gpud.AccessError{Kind: gpud.ErrOverBudget, What: from.OverBudget()}
	default:
		return &gpud.AccessError{Kind: gpud.ErrOther, What: from.Other()}
	}
}

// Result gives what a capability answered.
func Result[T any](from witrt.Result[T, gpud_plugin_types.AccessError]) (T, error) {
	if from.IsErr() {
		var none T
		return none, Err(from.Err())
	}
	return from.Ok(), nil
}

// CheckError is the opposite of Err, for what a checker returns.
func CheckError(err error) gpud_plugin_types.CheckError {
	var source *gpud.AccessError
	if !errors.As(err, &source) {
		return gpud_plugin_types.MakeCheckErrorFailed(valid(err.Error()))
	}
	return gpud_plugin_types.MakeCheckErrorSource(access(source))
}

func access(err *gpud.AccessError) gpud_plugin_types.AccessError {
	what := valid(err.What)
	switch err.Kind {
	case gpud.ErrDenied:
		return gpud_plugin_types.MakeAccessErrorDenied(what)
	case gpud.ErrNotSupported:
		return gpud_plugin_types.MakeAccessErrorNotSupported(what)
	case gpud.ErrNotFound:
		return gpud_plugin_types.MakeAccessErrorNotFound(what)
	case gpud.ErrTooLarge:
		return gpud_plugin_types.MakeAccessErrorTooLarge(
			gpud_plugin_types.SizeInfo{What: what, Size: err.Size, Limit: err.Limit})
	case gpud.ErrTimedOut:
		return gpud_plugin_types.MakeAccessErrorTimedOut(gpud_plugin_types.TimeoutInfo{
			What: what, AfterMs: uint64(max(err.After.Milliseconds(), 0)), LastGood: optionalTime(err.LastGood)})
	case gpud.ErrSourceLost:
		return gpud_plugin_types.MakeAccessErrorSourceLost(what)
	case gpud.ErrNeedsReset:
		return gpud_plugin_types.MakeAccessErrorNeedsReset(what)
	case gpud.ErrInvalidArgument:
		return gpud_plugin_types.MakeAccessErrorInvalidArgument(what)
	case gpud.ErrOverBudget:
		return gpud_plugin_types.MakeAccessErrorOverBudget(what)
	}
	return gpud_plugin_types.MakeAccessErrorOther(what)
}

func milliseconds(n uint64) time.Duration {
	return time.Duration(min(n, uint64(1<<63-1)/uint64(time.Millisecond))) * time.Millisecond
}

// Milliseconds of a duration for the host.
func Milliseconds(d time.Duration) uint32 { return uint32(min(max(d.Milliseconds(), 1), 1<<32-1)) }

// Time of a moment.
func Time(millis uint64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(min(millis, 1<<62))).UTC()
}

// Millis of a moment; 0 before 1970.
func Millis(moment time.Time) uint64 { return uint64(max(moment.UnixMilli(), 0)) }

func optionalTime(moment time.Time) witrt.Option[uint64] {
	if moment.IsZero() {
		return witrt.None[uint64]()
	}
	return witrt.Some(Millis(moment))
}
