package snapshot

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// compile compiles a Go program of one file to a reactor.
func compile(t *testing.T, source string) []byte {
	t.Helper()
	return compileWith(t, source, "module x\n\ngo 1.26\n")
}

// compileWith does it with this go.mod.
func compileWith(t *testing.T, source, mod string) []byte {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{"go.mod": mod, "main.go": source} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command("go", "build", "-buildmode=c-shared", "-ldflags=-w", "-o", "x.wasm", ".")
	command.Dir = folder
	command.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	file, err := os.ReadFile(filepath.Join(folder, "x.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

const program = `package main

import "unsafe"

var room = make([]uint64, 16)

var table = map[int32]int32{}

func init() {
	for i := range int32(100) {
		table[i] = i * i
	}
	println("started")
}

//go:wasmexport gpud-arena
func start() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(room))) }

//go:wasmexport gpud-arena-size
func size() uintptr { return 128 }

//go:wasmexport cabi_realloc
func reallocate(old unsafe.Pointer, oldSize, align, size uintptr) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(make([]uint64, (size+7)/8)))
}

//go:wasmexport gpud-ready
func prepare() { table[200] = -1 }

//go:wasmexport square
func square(i int32) int32 { return table[i] }

func main() {}
`

func TestASnapshotGoesOnWhereTheStartEnded(t *testing.T) {
	ctx := context.Background()
	var said bytes.Buffer
	compiled := compile(t, program)
	file, err := Take(ctx, compiled, &said)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "started") {
		t.Errorf("the start said %q", said.String())
	}
	again, err := Take(ctx, compiled, &said)
	if err != nil || !bytes.Equal(file, again) {
		t.Errorf("the same module gave another snapshot (%v)", err)
	}
	instance := instantiate(ctx, t, file)
	for _, gone := range []string{start, ready, arenaStart, arenaSize} {
		if instance.ExportedFunction(gone) != nil {
			t.Errorf("%s is still exported", gone)
		}
	}
	if answer, err := instance.ExportedFunction("square").Call(ctx, 7); err != nil || answer[0] != 49 {
		t.Errorf("%v %v", answer, err)
	}
	if answer, err := instance.ExportedFunction("square").Call(ctx, 200); err != nil || int32(answer[0]) != -1 {
		t.Errorf("what was to be prepared was not: %v %v", answer, err)
	}
	ask := func(align, size uint64) uint64 {
		answer, err := instance.ExportedFunction(realloc).Call(ctx, 0, 0, align, size)
		if err != nil {
			t.Fatal(err)
		}
		return answer[0]
	}
	first, second, third := ask(1, 3), ask(8, 100), ask(1, 20)
	if second != first+8 || second%8 != 0 || third != second+100 {
		t.Errorf("room at %d, %d, %d", first, second, third)
	}
	if behind := ask(1, 1); behind >= first && behind <= first+128 {
		t.Errorf("room at %d in an arena that is used up", behind)
	}
}

func TestACapabilityDuringInitialisationIsAnError(t *testing.T) {
	source := `package main

//go:wasmimport gpud:plugin/config@0.1.0 document
func document(uint32)

func init() { document(0) }

func main() {}
`
	_, err := Take(context.Background(), compile(t, source), &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "document of gpud:plugin/config@0.1.0") {
		t.Errorf("%v", err)
	}
}
