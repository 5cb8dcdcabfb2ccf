// Command gpud-go makes a gpud component of a Go package.
//
//	gpud-go build [-o FILE] [PACKAGE]
//
// It runs Go's own compiler for wasip1, runs the package's initialisation once and keeps the result as the component's
// initial memory, and has wasm-tools make a component of it that imports what the package uses of the contract, and
// nothing else. The program wasm-tools is looked for in the environment variable WASM_TOOLS, then in PATH.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"gpud.internal/gpud/cmd/gpud-go/internal/component"
	"gpud.internal/gpud/cmd/gpud-go/internal/snapshot"
)

const usage = `Makes a gpud component of a Go package.

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
	output := flags.String("o", "", "component file; by default the package folder's name with .wasm")
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
		*output = filepath.Base(folder) + ".wasm"
	}
	return build(pkg, *output, *plain)
}

func build(pkg, output string, plain bool) error {
	tools := os.Getenv("WASM_TOOLS")
	if tools == "" {
		tools = "wasm-tools"
	}
	if _, err := exec.LookPath(tools); err != nil {
		return fmt.Errorf("%w; sdk/go/setup.sh installs wasm-tools", err)
	}
	module, err := compile(pkg)
	if err != nil {
		return err
	}
	if !plain {
		if module, err = snapshot.Take(context.Background(), module, os.Stderr); err != nil {
			return err
		}
	}
	made, err := component.Make(tools, module)
	if err != nil {
		return err
	}
	return write(output, made)
}

// compile runs Go's compiler.
func compile(pkg string) ([]byte, error) {
	folder, err := os.MkdirTemp("", "gpud-go-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "core.wasm")
	command := exec.Command("go", "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-s -w", "-o", file, pkg)
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
