// Package goclient checks a gpud binary against what GPUd's Go client and end-to-end suite rely on.
//
// GPUD_BIN names the binary; without it everything here is skipped. run.sh sets it.
package goclient

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"gpud/tests/go-client/caller"
	"gpud/tests/go-client/wire"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// daemon is a running binary with three plugins. It is killed at the end of its test, as GPUd's suite does.
type daemon struct {
	*caller.Caller
	base   string
	binary string
	env    []string

	// Files that the plugins write, and the word that they write into them.
	initFile, manualFile, autoFile, autoFile2, word string
	// Names of the component plugins.
	manual, auto string
}

// binary is the one under test, with an environment like that of GPUd's suite. The kernel log stays out of it.
func binary(t *testing.T) (string, []string) {
	t.Helper()
	path := os.Getenv("GPUD_BIN")
	if path == "" {
		t.Skip("GPUD_BIN names no binary: see run.sh")
	}
	path, err := filepath.Abs(path)
	must(t, err)
	env := append(os.Environ(),
		"GPUD_NVML_MOCK_ALL_SUCCESS=true",
		"KMSG_FILE_PATH=/dev/null",
		"PATH="+fakeLspci(t)+string(os.PathListSeparator)+os.Getenv("PATH"))
	return path, env
}

// fakeLspci makes a folder with an lspci that knows one NVIDIA GPU, whatever it is asked.
func fakeLspci(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	script := `#!/bin/bash
echo "00:00.0 Host bridge [0600]: Intel Corporation 440FX - 82441FX PMC [Natoma] [8086:1237]"
echo "00:1e.0 3D controller [0302]: NVIDIA Corporation GA102GL [A10] [10de:2236] (rev a1)"
`
	must(t, os.WriteFile(filepath.Join(folder, "lspci"), []byte(script), 0o755))
	return folder
}

// startSettled runs a daemon whose components have all been loaded. Their compiled code is kept in the data folder, which
// these daemons share, so that only the first of them compiles.
func startSettled(t *testing.T) *daemon {
	t.Helper()
	d := start(t, settled)
	eventually(t, "all components are loaded", 5*time.Minute, func() bool {
		all, err := d.States(context.Background(), caller.Options{})
		must(t, err)
		return !slices.ContainsFunc(all, func(one wire.States) bool {
			return len(one.States) == 0 || one.States[0].Health == "Initializing" || one.States[0].Reason == "no data yet" &&
				one.Component != d.manual
		})
	})
	return d
}

// settled is the data folder of startSettled.
var settled string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "gpud-go-client-")
	if err != nil {
		panic(err)
	}
	settled = folder
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// start runs the daemon with GPUd's suite's flags, and with a data folder beside them. GPUD_TEST_DATA_DIR names another,
// to look at the difference that a warm cache makes.
func start(t *testing.T, data string) *daemon {
	t.Helper()
	path, env := binary(t)
	if other := os.Getenv("GPUD_TEST_DATA_DIR"); other != "" {
		data = other
	}
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	suffix := fmt.Sprintf("%08x", rand.Uint32())
	d := &daemon{
		binary: path, env: env,
		initFile: in("init"), manualFile: in("manual"), autoFile: in("auto"), autoFile2: in("auto2"),
		word: "word-" + suffix, manual: "manual-" + suffix, auto: suffix + "-auto",
	}
	text, err := yaml.Marshal(d.specs())
	must(t, err)
	must(t, os.WriteFile(in("plugins.yaml"), text, 0o644))

	listener, err := net.Listen("tcp", "localhost:0")
	must(t, err)
	port := listener.Addr().(*net.TCPAddr).Port
	must(t, listener.Close())

	log, err := os.Create(in("stderr"))
	must(t, err)
	command := exec.Command(path, "run", `--log-file=""`, "--log-level=debug", "--enable-auto-update=false",
		fmt.Sprintf("--listen-address=localhost:%d", port), "--plugin-specs-file="+in("plugins.yaml"),
		"--data-dir="+data)
	command.Env, command.Dir = env, folder
	command.Stdout, command.Stderr = log, log
	must(t, command.Start())
	alive, ended := context.WithCancelCause(context.Background())
	go func() { ended(fmt.Errorf("gpud ended by itself: %v", command.Wait())) }()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-alive.Done()
		if t.Failed() {
			for _, name := range []string{"stderr", `""`} {
				text, _ := os.ReadFile(in(name))
				t.Logf("the end of %s:\n%s", name, text[max(0, len(text)-4000):])
			}
		}
	})
	d.base = fmt.Sprintf("https://localhost:%d", port)
	d.Caller = caller.To(d.base)
	must(t, d.WaitUntilReady(alive))
	return d
}

// specs are one init plugin, one that runs only by hand and fails, and one that runs by itself.
func (d *daemon) specs() []wire.Spec {
	minute := metav1.Duration{Duration: time.Minute}
	write := func(file string) string { return fmt.Sprintf("echo %s > %s", d.word, file) }
	return []wire.Spec{
		{
			Name: "prepare-" + d.word, Type: "init", Timeout: minute,
			HealthStatePlugin: &wire.Script{Steps: []wire.Step{
				wire.Echo("say", "echo preparing"),
				wire.Echo("write", write(d.initFile)),
			}},
		},
		{
			Name: d.manual, Type: "component", RunMode: "manual", Tags: []string{"by-hand"}, Timeout: minute,
			HealthStatePlugin: &wire.Script{Steps: []wire.Step{
				wire.Echo("one", "echo one"),
				wire.Echo("two", "echo two"),
				wire.Echo("write", write(d.manualFile)),
				wire.Echo("fail", "exit 1"),
			}},
		},
		{
			Name: d.auto, Type: "component", Timeout: minute, Interval: minute,
			HealthStatePlugin: &wire.Script{
				Steps: []wire.Step{
					wire.Echo("one", "echo one"),
					wire.Echo("two", "echo two"),
					wire.Echo("write", write(d.autoFile)),
					wire.Echo("write again", write(d.autoFile2)),
					wire.Echo("result", fmt.Sprintf(`echo '{"name": %q, "health": "degraded"}'`, d.word)),
				},
				Parser: &wire.Parser{JSONPaths: []wire.JSONPath{
					{Query: "$.name", Field: "name"},
					{Query: "$.health", Field: "health"},
					{Query: "$.not.there", Field: "absent"},
					{Query: "$.neither", Field: "absent2"},
				}},
			},
		},
	}
}

// must stops a test that cannot go on.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits for something to hold.
func eventually(t *testing.T, what string, patience time.Duration, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}
