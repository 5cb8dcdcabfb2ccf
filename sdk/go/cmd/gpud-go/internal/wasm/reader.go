package wasm

import "errors"

var errShort = errors.New("the file ends too early or a number is too long")

// Reader reads the numbers and names of the binary format. After an error everything that it gives is zero.
type Reader struct {
	rest []byte
	err  error
}

// NewReader reads from bytes.
func NewReader(data []byte) *Reader { return &Reader{rest: data} }

// Err is the first error.
func (r *Reader) Err() error { return r.err }

// Empty says that nothing is left to read.
func (r *Reader) Empty() bool { return r.err != nil || len(r.rest) == 0 }

// Left is the number of bytes that are left.
func (r *Reader) Left() int { return len(r.rest) }

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if b := r.Bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

// Bytes reads n bytes.
func (r *Reader) Bytes(n uint32) []byte {
	if r.err != nil || uint64(n) > uint64(len(r.rest)) {
		r.err = errShort
		return nil
	}
	out := r.rest[:n:n]
	r.rest = r.rest[n:]
	return out
}

// U32 reads an unsigned LEB128 number of 32 bits.
func (r *Reader) U32() uint32 {
	var value uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.Byte()
		value |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			if value > 1<<32-1 {
				break
			}
			return uint32(value)
		}
	}
	r.err = errShort
	return 0
}

// SkipLEB skips a LEB128 number of any size.
func (r *Reader) SkipLEB() {
	for r.Byte()&0x80 != 0 {
	}
}

// Name reads a name.
func (r *Reader) Name() string { return string(r.Bytes(r.U32())) }

// AppendU32 writes an unsigned LEB128 number.
func AppendU32(out []byte, value uint32) []byte {
	for value >= 0x80 {
		out = append(out, byte(value)|0x80)
		value >>= 7
	}
	return append(out, byte(value))
}

// AppendS64 writes a signed LEB128 number.
func AppendS64(out []byte, value int64) []byte {
	for {
		b := byte(value & 0x7f)
		value >>= 7
		if value == 0 && b&0x40 == 0 || value == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

// AppendName writes a name.
func AppendName(out []byte, name string) []byte {
	return append(AppendU32(out, uint32(len(name))), name...)
}
