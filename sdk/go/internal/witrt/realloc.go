//go:build wasip1

package witrt

import "unsafe"

// received keeps what the host wrote: strings and slices made of it do not keep it by themselves while they are only
// addresses.
var received Pinner

// Unpin is called by the bindings when Go's own pointers keep what the host wrote.
func Unpin() { received.Unpin() }

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
