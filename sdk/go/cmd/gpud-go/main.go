// Command gpud-go makes the core module of a gpud plugin of a Go package.
//
//	gpud-go build [-o FILE] [PACKAGE]
//
// It runs Go's own compiler for wasip1, runs the package's initialisation once, and keeps the result as the module's
// initial memory. `gpud plugin build` calls it and makes the component of the module: gpud-plugin.yaml names the module,
// the contract (gpud-sdk/wit) and the replacement of WASI (gpud-sdk/wasi.wat).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gpud.internal/gpud/cmd/gpud-go/internal/snapshot"
	"gpud.internal/gpud/cmd/gpud-go/internal/wasm"
)

const usage = `Makes the core module of a gpud plugin of a Go package; "gpud plugin build" makes the component of it.

  gpud-go build [-o FILE] [-no-snapshot] [PACKAGE]

`

func main() {
	if err := command(os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "gpud-go:", err)
		}
		os.Exit(1)
	}
}

func command(arguments []string) error {
	flags := flag.NewFlagSet("gpud-go build", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(os.Stderr, usage)
		flags.PrintDefaults()
	}
	output := flags.String("o", "", "module file; by default the package folder's name with .core.wasm")
	plain := flags.Bool("no-snapshot", false, "every call runs the initialisation (slower; for debugging)")
	if len(arguments) == 0 || arguments[0] != "build" {
		flags.Usage()
		return flag.ErrHelp
	}
	if err := flags.Parse(arguments[1:]); err != nil {
		return flag.ErrHelp
	}
	pkg := "."
	switch flags.NArg() {
	case 0:
	case 1:
		pkg = flags.Arg(0)
	default:
		return errors.New("one package at a time")
	}
	if *output == "" {
		folder, err := filepath.Abs(pkg)
		if err != nil {
			return err
		}
		*output = filepath.Base(folder) + ".core.wasm"
	}
	return build(pkg, *output, *plain)
}

func build(pkg, output string, plain bool) error {
	module, err := compile(pkg)
	if err != nil {
		return err
	}
	if err := exportsChecker(module); err != nil {
		return err
	}
	if !plain {
		if module, err = snapshot.Take(context.Background(), module, os.Stderr); err != nil {
			return err
		}
	}
	return write(output, module)
}

// exportsChecker tells the author what is missing in words of Go, before gpud does in words of the contract.
func exportsChecker(module []byte) error {
	parsed, err := wasm.Parse(module)
	if err != nil {
		return err
	}
	exports, err := parsed.Exports()
	if err != nil {
		return err
	}
	for _, export := range exports {
		if strings.HasPrefix(export.Name, "gpud:plugin/checker@") {
			return nil
		}
	}
	return errors.New("the package exports no checker: call checker.Export of gpud.internal/gpud/export/checker in an " +
		"init function")
}

// compile runs Go's compiler. Without debug information (-w), but with the names of functions, so that a trap says where it
// happened.
func compile(pkg string) ([]byte, error) {
	folder, err := os.MkdirTemp("", "gpud-go-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "core.wasm")
	command := exec.Command("go", "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-w", "-o", file, pkg)
	command.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("go build %s: %w", pkg, err)
	}
	return os.ReadFile(file)
}

// write puts the file in place whole or not at all, since a daemon may be watching it.
func write(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	next := file + ".new"
	if err := os.WriteFile(next, content, 0o644); err != nil {
		return err
	}
	return os.Rename(next, file)
}
