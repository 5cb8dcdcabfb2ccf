package state

import (
	"gpud.internal/gpud/internal/convert"
	wit "gpud.internal/gpud/internal/wit/gpud_plugin_state"
	"gpud.internal/gpud/internal/witrt"
)

func get(key string) ([]byte, error) {
	found, err := convert.Result(wit.Get(key))
	if err != nil || found.Tag() == witrt.OptionNone {
		return nil, err
	}
	// An empty value is there, unlike nil.
	return append([]byte{}, found.Some()...), nil
}

func set(key string, value []byte) error {
	_, err := convert.Result(wit.Set(key, value))
	return err
}

func remove(key string) error {
	_, err := convert.Result(wit.Delete(key))
	return err
}

func keys(prefix string) ([]string, error) { return convert.Result(wit.Keys(prefix)) }
