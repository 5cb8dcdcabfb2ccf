package wasm

import "errors"

const (
	// page of a memory, bytes.
	page = 64 << 10
	// gap of zeros that is not worth a data segment of its own, bytes.
	gap = 64
	// maxSegments is what engines accept.
	maxSegments = 100_000
)

// WithMemory gives a module whose only memory begins with this content.
func (m Module) WithMemory(content []byte) (Module, error) {
	if len(content)%page != 0 {
		return nil, errors.New("a memory is not whole pages")
	}
	if m.Body(Data) == nil {
		return nil, errors.New("no section for data")
	}
	r := NewReader(m.Body(Memories))
	if r.U32() != 1 {
		return nil, errors.New("not exactly one memory")
	}
	flags := r.Byte()
	r.U32()
	body := AppendU32([]byte{1, flags}, uint32(len(content)/page))
	switch flags {
	case 0:
	case 1:
		body = AppendU32(body, r.U32())
	default:
		return nil, errors.New("a shared or 64-bit memory cannot be kept")
	}
	if r.Err() != nil {
		return nil, r.Err()
	}
	data, count := segments(content)
	if count > maxSegments {
		return nil, errors.New("more data segments than engines accept")
	}
	return m.With(Memories, body).With(DataCount, nil).With(Data, data), nil
}

// segments writes what is not zero as active data segments.
func segments(content []byte) (body []byte, count uint32) {
	var all []byte
	for at := 0; at < len(content); {
		if content[at] == 0 {
			at++
			continue
		}
		end, zeros := at, 0
		for next := at; next < len(content) && zeros < gap; next++ {
			if content[next] == 0 {
				zeros++
			} else {
				end, zeros = next+1, 0
			}
		}
		all = AppendS64(append(all, 0, 0x41), int64(int32(uint32(at))))
		all = AppendU32(append(all, 0x0b), uint32(end-at))
		all = append(all, content[at:end]...)
		count++
		at = end
	}
	return append(AppendU32(nil, count), all...), count
}
