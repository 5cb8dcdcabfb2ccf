package snapshot

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"gpud.internal/gpud/cmd/gpud-go/internal/wasm"
)

// compile compiles a Go program of one file to a reactor.
func compile(t *testing.T, source string) []byte {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{"go.mod": "module x\n\ngo 1.26\n", "main.go": source} {
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

var table = map[int32]int32{}

func init() {
	for i := range int32(100) {
		table[i] = i * i
	}
	println("started")
}

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
	if instance.ExportedFunction(start) != nil {
		t.Errorf("%s is still exported", start)
	}
	if answer, err := instance.ExportedFunction("square").Call(ctx, 7); err != nil || answer[0] != 49 {
		t.Errorf("%v %v", answer, err)
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

// instantiate makes an instance of a snapshot.
func instantiate(ctx context.Context, t *testing.T, file []byte) api.Module {
	t.Helper()
	module, err := wasm.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	t.Cleanup(func() { runtime.Close(ctx) })
	imports, err := module.Imports()
	if err != nil {
		t.Fatal(err)
	}
	if err := provide(ctx, runtime, imports, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	instance, err := runtime.InstantiateWithConfig(ctx, file, wazero.NewModuleConfig().WithStartFunctions())
	if err != nil {
		t.Fatal(err)
	}
	return instance
}
