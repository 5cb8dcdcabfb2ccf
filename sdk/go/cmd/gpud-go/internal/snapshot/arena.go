package snapshot

import (
	"context"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero/api"

	"gpud.internal/gpud/cmd/gpud-go/internal/wasm"
)

const (
	// realloc is the export by which the host asks for room.
	realloc = "cabi_realloc"
	// arenaStart and arenaSize are exports that say where the SDK has room for the host's answers.
	arenaStart = "gpud-arena"
	arenaSize  = "gpud-arena-size"
)

// arena is the room that the SDK set aside, as addresses of the module's memory.
type arena struct{ start, end uint32 }

// arenaOf asks a started module.
func arenaOf(ctx context.Context, instance api.Module) (*arena, error) {
	var values []uint32
	for _, name := range []string{arenaStart, arenaSize} {
		function := instance.ExportedFunction(name)
		if function == nil {
			return nil, nil
		}
		answer, err := function.Call(ctx)
		if err != nil {
			return nil, err
		}
		values = append(values, uint32(answer[0]))
	}
	room := &arena{values[0], values[0] + values[1]}
	if room.start%8 != 0 || room.end%8 != 0 || room.end < room.start {
		return nil, fmt.Errorf("an arena from %d to %d cannot be used", room.start, room.end)
	}
	return room, nil
}

// handOut puts a function in place of the export by which the host asks for room. It hands out the arena in a row; when
// that is used up, or the host wants anything else, it calls Go's function. A call into Go, in the middle of one out of
// it, costs several microseconds each.
func (a *arena) handOut(module wasm.Module, globals []wasm.Global) (wasm.Module, []wasm.Global, error) {
	exports, err := module.Exports()
	if err != nil {
		return nil, nil, err
	}
	exports = slices.DeleteFunc(exports, func(e wasm.Export) bool { return e.Name == arenaStart || e.Name == arenaSize })
	at := slices.IndexFunc(exports, func(e wasm.Export) bool { return e.Name == realloc && e.Kind == wasm.Func })
	if a == nil || at < 0 {
		return module.WithExports(exports), globals, nil
	}
	kind, err := module.FunctionType(exports[at].Index)
	if err != nil {
		return nil, nil, err
	}
	next := uint32(len(globals))
	globals = append(globals, wasm.Global{Type: wasm.I32, Mutable: true, Bits: uint64(a.start)})
	module, index, err := module.WithFunction(kind, a.body(next, exports[at].Index))
	if err != nil {
		return nil, nil, err
	}
	exports[at].Index = index
	return module.WithExports(exports), globals, nil
}

// Instructions of the binary format.
const (
	block     = 0x02
	brIf      = 0x0d
	call      = 0x10
	returns   = 0x0f
	end       = 0x0b
	localGet  = 0x20
	localSet  = 0x21
	globalGet = 0x23
	globalSet = 0x24
	i32Const  = 0x41
	i32GtU    = 0x4b
	i32Add    = 0x6a
	i32Sub    = 0x6b
	i32And    = 0x71
	nothing   = 0x40
)

// body of the function (old, oldSize, align, size) -> address; next is the global with the next free address, and
// fallback is Go's function. The arena's ends are aligned, so an aligned address never lies behind its end.
func (a *arena) body(next, fallback uint32) []byte {
	const old, align, size, address = 0, 2, 3, 4
	code := []byte{1, 1, wasm.I32} // one local: address
	code = append(code, block, nothing, localGet, old, brIf, 0)
	// address = (next + align - 1) & -align
	code = wasm.AppendU32(append(code, globalGet), next)
	code = append(code, localGet, align, i32Add, i32Const, 1, i32Sub)
	code = append(code, i32Const, 0, localGet, align, i32Sub, i32And, localSet, address)
	// size > end - address: Go's function
	code = wasm.AppendS64(append(code, localGet, size, i32Const), int64(int32(a.end)))
	code = append(code, localGet, address, i32Sub, i32GtU, brIf, 0)
	// next = address + size
	code = append(code, localGet, address, localGet, size, i32Add)
	code = wasm.AppendU32(append(code, globalSet), next)
	code = append(code, localGet, address, returns, end)
	code = append(code, localGet, 0, localGet, 1, localGet, 2, localGet, 3)
	return append(wasm.AppendU32(append(code, call), fallback), end)
}
