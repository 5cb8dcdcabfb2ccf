package wasm

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Value types of the binary format.
const (
	I32 = 0x7f
	I64 = 0x7e
	F32 = 0x7d
	F64 = 0x7c
)

// Kinds of imports and exports.
const (
	Func      = 0
	TableKind = 1
	MemKind   = 2
	GlobalOf  = 3
)

// FuncType is the type of a function.
type FuncType struct {
	// Params are value types.
	Params []byte
	// Results are value types.
	Results []byte
}

// Import is one imported function.
type Import struct {
	// Module that it comes from.
	Module string
	// Name in that module.
	Name string
	// Type of the function.
	Type FuncType
}

// Export is one export.
type Export struct {
	// Name that it has outside.
	Name string
	// Kind of thing.
	Kind byte
	// Index among things of its kind.
	Index uint32
}

// Global is one global that is initialised with a number.
type Global struct {
	// Type of its value.
	Type byte
	// Mutable or not.
	Mutable bool
	// Bits of the value that it begins with; those of 32-bit types are the low ones.
	Bits uint64
	// init as it stands in the file, for a global that is left as it is.
	init []byte
}

func types(body []byte) ([]FuncType, error) {
	r := NewReader(body)
	var out []FuncType
	for n := r.U32(); n > 0 && r.Err() == nil; n-- {
		if form := r.Byte(); form != 0x60 {
			return nil, fmt.Errorf("type of form %#x, which Go's compiler does not write", form)
		}
		out = append(out, FuncType{r.Bytes(r.U32()), r.Bytes(r.U32())})
	}
	return out, r.Err()
}

// Imports lists the functions that a module imports. Anything else that is imported is an error.
func (m Module) Imports() ([]Import, error) {
	all, err := types(m.Body(Types))
	if err != nil {
		return nil, err
	}
	r := NewReader(m.Body(Imports))
	var out []Import
	if r.Empty() {
		return nil, nil
	}
	for n := r.U32(); n > 0 && r.Err() == nil; n-- {
		module, name := r.Name(), r.Name()
		if kind := r.Byte(); kind != Func {
			return nil, fmt.Errorf("import %s.%s is no function", module, name)
		}
		index := r.U32()
		if uint64(index) >= uint64(len(all)) {
			return nil, fmt.Errorf("import %s.%s has no type", module, name)
		}
		out = append(out, Import{module, name, all[index]})
	}
	return out, r.Err()
}

// Exports lists what a module exports.
func (m Module) Exports() ([]Export, error) {
	r := NewReader(m.Body(Exports))
	var out []Export
	if r.Empty() {
		return nil, nil
	}
	for n := r.U32(); n > 0 && r.Err() == nil; n-- {
		out = append(out, Export{r.Name(), r.Byte(), r.U32()})
	}
	return out, r.Err()
}

// WithExports gives a module with other exports.
func (m Module) WithExports(exports []Export) Module {
	body := AppendU32(nil, uint32(len(exports)))
	for _, export := range exports {
		body = append(AppendName(body, export.Name), export.Kind)
		body = AppendU32(body, export.Index)
	}
	return m.With(Exports, body)
}

// Globals lists the globals that a module defines; Bits of mutable ones are left 0.
func (m Module) Globals() ([]Global, error) {
	r := NewReader(m.Body(Globals))
	var out []Global
	if r.Empty() {
		return nil, nil
	}
	for n := r.U32(); n > 0 && r.Err() == nil; n-- {
		global := Global{Type: r.Byte(), Mutable: r.Byte() == 1}
		before := r.rest
		switch op := r.Byte(); op {
		case 0x41, 0x42:
			r.SkipLEB()
		case 0x43:
			r.Bytes(4)
		case 0x44:
			r.Bytes(8)
		default:
			return nil, fmt.Errorf("global begins with instruction %#x, which Go's compiler does not write", op)
		}
		if r.Byte() != 0x0b {
			return nil, errors.New("global begins with more than a number")
		}
		global.init = before[:len(before)-len(r.rest)]
		out = append(out, global)
	}
	return out, r.Err()
}

// WithGlobals gives a module whose mutable globals begin with other values.
func (m Module) WithGlobals(globals []Global) (Module, error) {
	body := AppendU32(nil, uint32(len(globals)))
	for _, global := range globals {
		if !global.Mutable {
			body = append(append(body, global.Type, 0), global.init...)
			continue
		}
		body = append(body, global.Type, 1)
		switch global.Type {
		case I32:
			body = AppendS64(append(body, 0x41), int64(int32(uint32(global.Bits))))
		case I64:
			body = AppendS64(append(body, 0x42), int64(global.Bits))
		case F32:
			body = binary.LittleEndian.AppendUint32(append(body, 0x43), uint32(global.Bits))
		case F64:
			body = binary.LittleEndian.AppendUint64(append(body, 0x44), global.Bits)
		default:
			return nil, fmt.Errorf("global of type %#x cannot be kept", global.Type)
		}
		body = append(body, 0x0b)
	}
	return m.With(Globals, body), nil
}
