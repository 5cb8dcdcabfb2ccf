package snapshot

import (
	"context"
	"fmt"
	"io"

	"github.com/tetratelabs/wazero/api"

	"gpud.internal/gpud/cmd/gpud-go/internal/wasm"
)

// preview1 is the module name of WASI's first version, which Go's compiler imports.
const preview1 = "wasi_snapshot_preview1"

// Error numbers of WASI.
const (
	success = 0
	badFile = 8
	noSys   = 52
)

// world is what a module sees while it starts: no arguments, no environment, no files, a clock that counts readings,
// and always the same random numbers, so that the same sources give the same component.
type world struct {
	output io.Writer
	clock  uint64
	random uint64
}

func (w *world) function(imported wasm.Import) api.GoModuleFunction {
	if imported.Module != preview1 {
		return api.GoModuleFunc(func(context.Context, api.Module, []uint64) {
			panic(fmt.Errorf("%s of %s was called while packages initialise; capabilities are there in Check only",
				imported.Name, imported.Module))
		})
	}
	return api.GoModuleFunc(func(_ context.Context, module api.Module, stack []uint64) {
		errno := w.call(imported.Name, module.Memory(), stack)
		if len(imported.Type.Results) == 1 {
			stack[0] = uint64(errno)
		}
	})
}

func (w *world) call(name string, memory api.Memory, args []uint64) uint32 {
	at := func(i int) uint32 { return uint32(args[i]) }
	switch name {
	case "args_get", "environ_get", "sched_yield":
		return success
	case "args_sizes_get", "environ_sizes_get":
		memory.WriteUint32Le(at(0), 0)
		memory.WriteUint32Le(at(1), 0)
		return success
	case "clock_time_get":
		w.clock += 1000
		memory.WriteUint64Le(at(2), w.clock)
		return success
	case "random_get":
		return w.fill(memory, at(0), at(1))
	case "fd_write":
		return w.write(memory, at(1), at(2), at(3))
	case "fd_prestat_get", "fd_fdstat_get", "fd_close", "fd_read":
		return badFile
	case "proc_exit":
		panic(fmt.Errorf("exit status %d", at(0)))
	}
	return noSys
}

// fill writes numbers of the generator SplitMix64.
func (w *world) fill(memory api.Memory, start, length uint32) uint32 {
	bytes, ok := memory.Read(start, length)
	if !ok {
		return noSys
	}
	for i := range bytes {
		w.random += 0x9e3779b97f4a7c15
		z := w.random
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		bytes[i] = byte(z >> 56)
	}
	return success
}

func (w *world) write(memory api.Memory, iovs, count, written uint32) uint32 {
	var sum uint32
	for i := range count {
		start, ok := memory.ReadUint32Le(iovs + 8*i)
		length, also := memory.ReadUint32Le(iovs + 8*i + 4)
		bytes, all := memory.Read(start, length)
		if !ok || !also || !all {
			return noSys
		}
		w.output.Write(bytes)
		sum += length
	}
	memory.WriteUint32Le(written, sum)
	return success
}
