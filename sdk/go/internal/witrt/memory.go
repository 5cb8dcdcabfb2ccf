// Package witrt is what the generated bindings in internal/wit want at run time: memory that crosses to the host, and
// the contract's option, result and tuple.
package witrt

import "unsafe"

const (
	// few and many are how many blocks a Pinner keeps without allocation, and how many more it then makes room for:
	// what a call into the host takes, and what a report has.
	few  = 4
	many = 120
	// chunkSize is how much memory Allocate asks Go for at once, in bytes.
	chunkSize = 8 << 10
)

// Pinner keeps memory that the host knows by its address from being collected. (Nothing is ever moved.)
type Pinner struct {
	first [few]unsafe.Pointer
	count int
	rest  []unsafe.Pointer
}

// Pin keeps a block.
func (p *Pinner) Pin(block unsafe.Pointer) {
	if p.count < few {
		p.first[p.count] = block
		p.count++
		return
	}
	if p.rest == nil {
		p.rest = make([]unsafe.Pointer, 0, many)
	}
	p.rest = append(p.rest, block)
}

// Unpin lets all of them go.
func (p *Pinner) Unpin() { *p = Pinner{} }

// chunk is zeroed memory without pointers that Allocate has not given away yet.
var chunk = make([]uint64, chunkSize/8)

// Allocate gives zeroed memory that is kept. Alignment is at most 8. Small blocks are cut from a chunk, which is much
// cheaper than to ask Go for each: a report has dozens.
func Allocate(pinner *Pinner, size, _ uintptr) unsafe.Pointer {
	if size == 0 {
		return nil
	}
	words := int((size + 7) / 8)
	if words > len(chunk) {
		if words > chunkSize/8/4 {
			return keep(pinner, make([]uint64, words))
		}
		chunk = make([]uint64, chunkSize/8)
	}
	block := chunk[:words]
	chunk = chunk[words:]
	return keep(pinner, block)
}

func keep(pinner *Pinner, block []uint64) unsafe.Pointer {
	start := unsafe.Pointer(unsafe.SliceData(block))
	pinner.Pin(start)
	return start
}
