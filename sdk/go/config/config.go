// Package config reads the component's configuration, as the operator wrote it in the spec. Grant: "config: true".
package config

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Document is one JSON object; "{}" when nothing was configured. At most 256 KiB. It fits the descriptor's schema, or
// the plugin is not loaded; a checker still has to read with care, since a schema rarely says everything.
func Document() string { return document() }

// Decode reads the document into a struct, over the values that it has. A field that the struct does not know is an
// error.
func Decode(into any) error {
	text := document()
	if text == "{}" { // Nothing was configured, as on most machines.
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("config: %w", err)
	}
	return nil
}
