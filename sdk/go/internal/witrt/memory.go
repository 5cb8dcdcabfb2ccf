// Package witrt is what the generated bindings in internal/wit want at run time: memory that crosses to the host, and
// the contract's option, result and tuple.
package witrt

import "unsafe"

// Pinner keeps memory that the host knows by its address from being collected. (Nothing is ever moved.)
type Pinner struct{ kept []unsafe.Pointer }

// Pin keeps a block.
func (p *Pinner) Pin(block unsafe.Pointer) { p.kept = append(p.kept, block) }

// Unpin lets all of them go.
func (p *Pinner) Unpin() { p.kept = nil }

// Allocate gives zeroed memory that is kept. Alignment is at most 8.
func Allocate(pinner *Pinner, size, _ uintptr) unsafe.Pointer {
	if size == 0 {
		return nil
	}
	block := unsafe.Pointer(unsafe.SliceData(make([]uint64, (size+7)/8)))
	pinner.Pin(block)
	return block
}
