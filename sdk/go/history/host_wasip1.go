package history

import (
	"time"

	"gpud.internal/gpud/internal/convert"
	wit "gpud.internal/gpud/internal/wit/gpud_plugin_history"
)

func ownEvents(since time.Time, limit uint32) ([]StoredEvent, error) {
	found, err := convert.Result(wit.OwnEvents(convert.Millis(since), limit))
	if err != nil {
		return nil, err
	}
	out := make([]StoredEvent, len(found))
	for i, one := range found {
		out[i] = StoredEvent{convert.Event(one.Event), one.Count, convert.Time(one.LastTime)}
	}
	return out, nil
}

func reboots(since time.Time) ([]time.Time, error) {
	found, err := convert.Result(wit.Reboots(convert.Millis(since)))
	if err != nil {
		return nil, err
	}
	out := make([]time.Time, len(found))
	for i, one := range found {
		out[i] = convert.Time(one.Time)
	}
	return out, nil
}

func setHealthyMarks(since time.Time) ([]time.Time, error) {
	found, err := convert.Result(wit.SetHealthyMarks(convert.Millis(since)))
	if err != nil {
		return nil, err
	}
	out := make([]time.Time, len(found))
	for i, one := range found {
		out[i] = convert.Time(one)
	}
	return out, nil
}

func available() bool { return wit.Available() }
