// Package component makes a component of a core module that speaks the contract.
package component

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gpud.internal/gpud/cmd/gpud-go/internal/wasm"
)

// wit is the contract, as sdk/go/generate.sh copies it.
//
//go:embed wit/*.wit
var wit embed.FS

// adapter stands in for WASI.
//
//go:embed adapter.wat
var adapter []byte

// adapterWorld says what the adapter imports.
const adapterWorld = "package gpud:plugin@0.1.0;\n\nworld adapter {\n    import log;\n}\n"

// worlds says which world of the contract an export belongs to.
var worlds = []struct{ export, world string }{
	{"gpud:plugin/checker@0.1.0#check", "plugin"},
	{"gpud:plugin/scanner@0.1.0#scan", "scanner-only"},
	{"gpud:plugin/kmsg-watcher@0.1.0#on-messages", "kmsg-watcher-only"},
}

// Make gives the component. tools is the program wasm-tools.
func Make(tools string, module []byte) ([]byte, error) {
	folder, err := os.MkdirTemp("", "gpud-go-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	at := func(name string) string { return filepath.Join(folder, name) }
	if err := os.CopyFS(folder, wit); err != nil {
		return nil, err
	}
	files := map[string][]byte{"wit/adapter.wit": []byte(adapterWorld), "adapter.wat": adapter, "core.wasm": module}
	for name, content := range files {
		if err := os.WriteFile(at(name), content, 0o600); err != nil {
			return nil, err
		}
	}
	names, err := worldsOf(module)
	if err != nil {
		return nil, err
	}
	embed := func(world, from, to string) []string {
		return []string{"component", "embed", at("wit"), "--world", world, at(from), "-o", at(to)}
	}
	steps := [][]string{embed("adapter", "adapter.wat", "adapter.wasm")}
	for _, name := range names {
		steps = append(steps, embed(name, "core.wasm", "core.wasm"))
	}
	steps = append(steps, []string{"component", "new", at("core.wasm"),
		"--adapt", "wasi_snapshot_preview1=" + at("adapter.wasm"), "-o", at("component.wasm")})
	for _, arguments := range steps {
		if err := run(tools, arguments); err != nil {
			return nil, err
		}
	}
	return os.ReadFile(at("component.wasm"))
}

// worldsOf finds out what a module exports.
func worldsOf(module []byte) ([]string, error) {
	parsed, err := wasm.Parse(module)
	if err != nil {
		return nil, err
	}
	exports, err := parsed.Exports()
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, export := range exports {
		there[export.Name] = true
	}
	var names []string
	for _, one := range worlds {
		if there[one.export] {
			names = append(names, one.world)
		}
	}
	if len(names) == 0 || names[0] != "plugin" {
		return nil, fmt.Errorf("the package exports no checker: call checker.Export of " +
			"gpud.internal/gpud/export/checker in an init function")
	}
	return names, nil
}

func run(program string, arguments []string) error {
	command := exec.Command(program, arguments...)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", program, strings.Join(arguments[:2], " "), err, said.String())
	}
	return nil
}
