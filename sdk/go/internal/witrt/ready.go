//go:build wasip1

package witrt

import "unsafe"

const (
	// largest size of objects that room is made for, in bytes: what a check allocates.
	largest = 1 << 10
	// heapPage is what spans of Go's heap are made of, in bytes; half of it is a page of the machine.
	heapPage = 8 << 10
	// stackRoom is how deep a check can call without a larger stack, in bytes.
	stackRoom = 16 << 10
)

// sink makes objects that are allocated escape.
var sink unsafe.Pointer

// ready is called by gpud-go when the start has ended, before it takes the snapshot. What is dearest in a call that
// lasts a tenth of a millisecond, every call would have to do again: to get a new span for each size of object, and to
// grow the stack. And each page that a call writes to is copied back after it, and pages that lie apart are dearer. So
// each size gets a span of its own here, with room in one page that lies beside that of the next.
//
//go:wasmexport gpud-ready
func ready() {
	eachSize(func(pointers, bytes allocator) { sink, sink = pointers(), bytes() }) // so that all have a span to fill
	eachSize(func(pointers, bytes allocator) {
		// In the second half, since what Go notes about pointers is at the end of the span.
		fill(pointers, heapPage/2)
		fill(bytes, 0)
	})
	growStack()
	sink = nil
}

// allocator allocates an object of one size.
type allocator func() unsafe.Pointer

// eachSize goes through the sizes that Go has spans for, of objects with and without pointers.
func eachSize(do func(pointers, bytes allocator)) {
	for size := 8; size <= largest; size = cap(append([]byte(nil), make([]byte, size+1)...)) {
		do(func() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(make([]*byte, size/8))) },
			func() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(make([]byte, size))) })
	}
}

// fill allocates until the allocator is that far in the next span.
func fill(allocate allocator, far uintptr) {
	before := uintptr(allocate()) / heapPage
	for {
		sink = allocate()
		if at := uintptr(sink); at/heapPage != before && at%heapPage >= far {
			return
		}
	}
}

// growStack uses room on the stack, which then stays.
//
//go:noinline
func growStack() byte {
	var room [stackRoom]byte
	return room[uintptr(sink)%stackRoom]
}
