// Package state keeps small values from call to call and across restarts, private to the component. Grant: "state:
// true".
//
// At most 256 keys of at most 256 bytes, 64 KiB per value, 1 MiB in all; beyond is gpud.ErrTooLarge. What a call writes
// is kept only when the call ends without trap or time-out.
package state

import (
	"encoding/json"
	"fmt"
)

// Get gives the value of a key; nil when there is none.
func Get(key string) ([]byte, error) { return get(key) }

// Set sets a key.
func Set(key string, value []byte) error { return set(key, value) }

// Delete removes a key; removing what is not there is fine.
func Delete(key string) error { return remove(key) }

// Keys gives the keys that begin with a prefix, sorted.
func Keys(prefix string) ([]string, error) { return keys(prefix) }

// GetJSON reads a value that SetJSON wrote. It says false, and leaves `into` as it is, when there is none or it cannot
// be read, for instance since another version of the checker wrote it.
func GetJSON(key string, into any) (bool, error) {
	value, err := get(key)
	if err != nil || value == nil {
		return false, err
	}
	return json.Unmarshal(value, into) == nil, nil
}

// SetJSON sets a key to a value as JSON.
func SetJSON(key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("state %s: %w", key, err)
	}
	return set(key, text)
}
