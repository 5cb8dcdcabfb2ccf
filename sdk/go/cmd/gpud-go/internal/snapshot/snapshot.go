// Package snapshot runs a Go module's start (the runtime's and that of all packages) at build time and stores the
// result as the module's initial memory. An instance then begins where the start ended, which makes a fresh one several
// times cheaper.
package snapshot

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"gpud.internal/gpud/cmd/gpud-go/internal/wasm"
)

const (
	// start is the export that runs a reactor's initialisation.
	start = "_initialize"
	// globalName begins the names under which globals are exported while the start runs.
	globalName = "gpud-snapshot-global-"
)

// Take gives the module as it is after its start. What the start writes to standard output and error goes to output.
func Take(ctx context.Context, file []byte, output io.Writer) ([]byte, error) {
	module, err := wasm.Parse(file)
	if err != nil {
		return nil, err
	}
	globals, err := module.Globals()
	if err != nil {
		return nil, err
	}
	exports, err := module.Exports()
	if err != nil {
		return nil, err
	}
	starts := slices.ContainsFunc(exports, func(e wasm.Export) bool { return e.Name == start && e.Kind == wasm.Func })
	if !starts || module.Body(wasm.Start) != nil {
		return nil, fmt.Errorf("the module has no %s, or begins by itself: build it with -buildmode=c-shared", start)
	}
	open := slices.Clone(exports)
	for i := range globals {
		open = append(open, wasm.Export{Name: globalName + strconv.Itoa(i), Kind: wasm.GlobalOf, Index: uint32(i)})
	}
	memory, err := run(ctx, module.WithExports(open), globals, output)
	if err != nil {
		return nil, err
	}
	module = module.WithExports(slices.DeleteFunc(exports, func(e wasm.Export) bool {
		return e.Name == start
	}))
	if module, err = module.WithMemory(memory); err != nil {
		return nil, err
	}
	if module, err = module.WithGlobals(globals); err != nil {
		return nil, err
	}
	return module.Encode(), nil
}

// run starts the module; it gives the memory, and changes the globals' values.
func run(ctx context.Context, module wasm.Module, globals []wasm.Global, output io.Writer) ([]byte, error) {
	// Interpreted: compiling two megabytes takes longer than a start of a few milliseconds.
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer runtime.Close(ctx)
	imports, err := module.Imports()
	if err != nil {
		return nil, err
	}
	if err := provide(ctx, runtime, imports, output); err != nil {
		return nil, err
	}
	config := wazero.NewModuleConfig().WithStartFunctions()
	instance, err := runtime.InstantiateWithConfig(ctx, module.Encode(), config)
	if err != nil {
		return nil, err
	}
	if _, err := instance.ExportedFunction(start).Call(ctx); err != nil {
		return nil, fmt.Errorf("package initialisation failed: %w", err)
	}
	for i := range globals {
		globals[i].Bits = instance.ExportedGlobal(globalName + strconv.Itoa(i)).Get()
	}
	memory := instance.Memory()
	if memory == nil {
		return nil, fmt.Errorf("the module exports no memory")
	}
	content, ok := memory.Read(0, memory.Size())
	if !ok {
		return nil, fmt.Errorf("a memory of %d bytes cannot be kept", memory.Size())
	}
	return slices.Clone(content), nil
}

// provide gives the module its imports: WASI as the adapter has it, and capabilities that are not there yet.
func provide(ctx context.Context, runtime wazero.Runtime, imports []wasm.Import, output io.Writer) error {
	modules := map[string]wazero.HostModuleBuilder{}
	var names []string
	w := world{output: output}
	for _, imported := range imports {
		if modules[imported.Module] == nil {
			modules[imported.Module] = runtime.NewHostModuleBuilder(imported.Module)
			names = append(names, imported.Module)
		}
		function := w.function(imported)
		modules[imported.Module].NewFunctionBuilder().
			WithGoModuleFunction(function, valueTypes(imported.Type.Params), valueTypes(imported.Type.Results)).
			Export(imported.Name)
	}
	for _, name := range names {
		if _, err := modules[name].Instantiate(ctx); err != nil {
			return err
		}
	}
	return nil
}

func valueTypes(types []byte) []api.ValueType {
	return append([]api.ValueType(nil), types...)
}
