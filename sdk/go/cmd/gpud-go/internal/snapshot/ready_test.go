package snapshot

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"gpud.internal/gpud/cmd/gpud-go/internal/wasm"
)

// reporter is a checker whose reports have a bit of everything. It calls deeper than the start did.
const reporter = `package main

import (
	"fmt"

	"gpud.internal/gpud"
	"gpud.internal/gpud/export/checker"
)

type reporter struct{}

func (reporter) Check(ctx *gpud.Context) (*gpud.Report, error) {
	seen := map[string]int{}
	deep(20)
	var results []gpud.Result
	for i := range 8 {
		name := fmt.Sprintf("sensor %d", i)
		seen[name] = i
		results = append(results, gpud.Result{Name: name, Health: gpud.Degraded, Reason: "warm", Path: "/sys/" + name})
	}
	report := gpud.Judge(ctx, results, "")
	for name, i := range seen {
		report.AddGauge("x", float64(i), "name", name)
	}
	return report, nil
}

func deep(n int) (sum int) {
	var room [300]byte
	if n > 0 {
		sum = deep(n - 1)
	}
	for i := range room {
		room[i] = byte(sum + i)
	}
	return int(room[n])
}

func init() { checker.Export(reporter{}, gpud.NewDescriptor("0.1.0", "reporter", "Reports")) }

func main() {}
`

// What is dear in a call, and what ready is there to spare it.
var dear = []string{"runtime.__mcache_.refill", "runtime.newstack"}

// calls counts calls of functions by name.
type calls map[string]int

// NewFunctionListener implements experimental.FunctionListenerFactory.
func (c calls) NewFunctionListener(function api.FunctionDefinition) experimental.FunctionListener {
	name := strings.TrimPrefix(function.DebugName(), ".")
	return experimental.FunctionListenerFunc(
		func(context.Context, api.Module, api.FunctionDefinition, []uint64, experimental.StackIterator) {
			c[name]++
		})
}

func TestACallFindsRoom(t *testing.T) {
	sdk, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	compiled := compileWith(t, reporter, "module x\n\ngo 1.26\n\nrequire gpud.internal/gpud v0.0.0\n\n"+
		"replace gpud.internal/gpud => "+sdk+"\n")
	file, err := Take(context.Background(), compiled, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	counted := calls{}
	ctx := experimental.WithFunctionListenerFactory(context.Background(), counted)
	instance := instantiate(ctx, t, file)
	if instance.ExportedFunction(ready) != nil {
		t.Errorf("%s is still exported", ready)
	}
	clear(counted)
	check := instance.ExportedFunction("gpud:plugin/checker@0.1.0#check")
	if _, err := check.Call(ctx, make([]uint64, len(check.Definition().ParamTypes()))...); err != nil {
		t.Fatal(err)
	}
	if counted["runtime.mallocgc"] == 0 {
		t.Error("functions are called differently now")
	}
	for _, name := range dear {
		if counted[name] > 0 {
			t.Errorf("%d calls of %s", counted[name], name)
		}
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
