package wasm

import "errors"

// Section ids of functions and their code.
const (
	functions = 3
	code      = 10
)

// FunctionType gives the index of the type of a function that the module defines.
func (m Module) FunctionType(index uint32) (uint32, error) {
	imports, err := m.Imports()
	if err != nil {
		return 0, err
	}
	if index < uint32(len(imports)) {
		return 0, errors.New("the function is imported")
	}
	r := NewReader(m.Body(functions))
	count := r.U32()
	if index-uint32(len(imports)) >= count {
		return 0, errors.New("there is no such function")
	}
	for range index - uint32(len(imports)) {
		r.U32()
	}
	return r.U32(), r.Err()
}

// WithFunction gives a module with one more function, and its index. The body has locals and code, without its length.
func (m Module) WithFunction(typeIndex uint32, body []byte) (Module, uint32, error) {
	imports, err := m.Imports()
	if err != nil {
		return nil, 0, err
	}
	declared, count, err := m.withOneMore(functions, AppendU32(nil, typeIndex))
	if err != nil {
		return nil, 0, err
	}
	defined, _, err := declared.withOneMore(code, append(AppendU32(nil, uint32(len(body))), body...))
	return defined, uint32(len(imports)) + count, err
}

// withOneMore adds an item to a section that is a list; it gives how many there were.
func (m Module) withOneMore(id byte, item []byte) (Module, uint32, error) {
	r := NewReader(m.Body(id))
	count := r.U32()
	rest := r.Bytes(uint32(r.Left()))
	if r.Err() != nil {
		return nil, 0, r.Err()
	}
	body := append(AppendU32(nil, count+1), rest...)
	return m.With(id, append(body, item...)), count, nil
}
