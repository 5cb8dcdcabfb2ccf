//go:build wasip1

package witrt

import "unsafe"

// arenaSize is how much the host may write in one call before cabi_realloc has to be asked, in bytes.
const arenaSize = 128 << 10

// arena is where the host's answers go: gpud-go puts a function in place of the export cabi_realloc that hands it out
// in a row, since a call from the host into Go costs more than most answers. It has no pointers, and is never freed.
var arena = make([]uint64, arenaSize/8)

// received keeps what the host wrote: strings and slices made of it do not keep it by themselves while they are only
// addresses.
var received Pinner

// Unpin is called by the bindings when Go's own pointers keep what the host wrote.
func Unpin() { received.Unpin() }

//go:wasmexport gpud-arena
func arenaStart() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(arena))) }

//go:wasmexport gpud-arena-size
func arenaLength() uintptr { return arenaSize }

// reallocate gives the host room for an answer. The contract has it grow nothing.
//
//go:wasmexport cabi_realloc
func reallocate(old unsafe.Pointer, oldSize, align, size uintptr) unsafe.Pointer {
	if old != nil || oldSize != 0 {
		panic("the host wants to resize a block")
	}
	if size == 0 {
		return unsafe.Pointer(align)
	}
	return Allocate(&received, size, align)
}
