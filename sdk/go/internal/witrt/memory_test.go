package witrt

import (
	"runtime"
	"testing"
	"unsafe"
)

func TestBlocksAreZeroedAndApart(t *testing.T) {
	var pinner Pinner
	var blocks [][]byte
	for _, size := range []uintptr{1, 8, 13, chunkSize / 4, chunkSize - 8, chunkSize, 3 * chunkSize, 24} {
		start := Allocate(&pinner, size, 8)
		if uintptr(start)%8 != 0 {
			t.Errorf("%d bytes at %x", size, uintptr(start))
		}
		blocks = append(blocks, unsafe.Slice((*byte)(start), size))
	}
	for i, block := range blocks {
		for _, b := range block {
			if b != 0 {
				t.Fatalf("block %d has what was written to another", i)
			}
		}
		for j := range block {
			block[j] = 0xff
		}
	}
	if Allocate(&pinner, 0, 8) != nil {
		t.Error("nothing has an address")
	}
}

func TestAPinnedBlockIsKept(t *testing.T) {
	const blocks = few + 2*many
	var collected int
	var pinner Pinner
	for range blocks {
		block := new([64]byte)
		runtime.SetFinalizer(block, func(*[64]byte) { collected++ })
		pinner.Pin(unsafe.Pointer(block))
	}
	finish := func() int {
		done := make(chan bool)
		runtime.SetFinalizer(new([64]byte), func(*[64]byte) { close(done) })
		runtime.GC()
		<-done
		return collected
	}
	if n := finish(); n != 0 {
		t.Errorf("%d blocks were collected", n)
	}
	pinner.Unpin()
	if n := finish(); n == 0 {
		t.Error("no block was let go")
	}
}
