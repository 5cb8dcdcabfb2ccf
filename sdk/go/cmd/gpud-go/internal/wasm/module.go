// Package wasm takes core WebAssembly modules apart, as far as a snapshot needs it, and puts them together again.
package wasm

import (
	"bytes"
	"errors"
	"fmt"
)

// Section ids of the binary format.
const (
	Custom    = 0
	Types     = 1
	Imports   = 2
	Memories  = 5
	Globals   = 6
	Exports   = 7
	Start     = 8
	Data      = 11
	DataCount = 12
)

var header = []byte{0, 'a', 's', 'm', 1, 0, 0, 0}

// Section is one section as it stands in the file.
type Section struct {
	// ID of the section.
	ID byte
	// Body without id and length.
	Body []byte
}

// Module is a list of sections in the order of the file.
type Module []Section

// Parse splits a module into sections.
func Parse(file []byte) (Module, error) {
	rest, found := bytes.CutPrefix(file, header)
	if !found {
		return nil, errors.New("not a core WebAssembly module")
	}
	r := NewReader(rest)
	var module Module
	for !r.Empty() {
		id := r.Byte()
		body := r.Bytes(r.U32())
		if r.Err() != nil {
			return nil, fmt.Errorf("section %d: %w", len(module), r.Err())
		}
		module = append(module, Section{id, body})
	}
	return module, nil
}

// Encode is the opposite of Parse.
func (m Module) Encode() []byte {
	out := bytes.Clone(header)
	for _, section := range m {
		out = append(out, section.ID)
		out = AppendU32(out, uint32(len(section.Body)))
		out = append(out, section.Body...)
	}
	return out
}

// Body gives the body of the first section with this id, or nil.
func (m Module) Body(id byte) []byte {
	for _, section := range m {
		if section.ID == id {
			return section.Body
		}
	}
	return nil
}

// With gives a module with another body in the section of this id; a nil body leaves the section out.
func (m Module) With(id byte, body []byte) Module {
	var out Module
	for _, section := range m {
		switch {
		case section.ID != id:
			out = append(out, section)
		case body != nil:
			out = append(out, Section{id, body})
		}
	}
	return out
}
