package goclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"gpud/tests/go-client/caller"
	"gpud/tests/go-client/wire"
)

// pause is how long GPUd's suite gives a plugin to run, or to show that it does not.
const pause = 3 * time.Second

// kinds are the four ways in which the suite asks.
var kinds = map[string]caller.Options{
	"json":      {ContentType: caller.JSON},
	"json gzip": {ContentType: caller.JSON, Gzip: true},
	"yaml":      {ContentType: caller.YAML},
	"yaml gzip": {ContentType: caller.YAML, Gzip: true},
}

// TestSuite goes through the assertions of GPUd's end-to-end suite, in their order, in our own words.
func TestSuite(t *testing.T) {
	path, env := binary(t)
	run := func(t *testing.T, arguments ...string) {
		t.Helper()
		command := exec.Command(path, arguments...)
		command.Env, command.Dir = env, t.TempDir()
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("gpud %v: %v\n%s", arguments, err, output)
		}
	}
	t.Run("scan", func(t *testing.T) { run(t, "scan") })
	d := start(t, t.TempDir())
	ctx := context.Background()
	// All steps are tried, though GPUd's suite stops at the first that fails: each failure is worth knowing.
	step := func(name string, body func(t *testing.T)) { t.Run(name, body) }
	absent := func(t *testing.T, file string) {
		t.Helper()
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("%s should not be there (%v)", file, err)
		}
	}
	one := func(t *testing.T, component string) wire.State {
		t.Helper()
		all, err := d.States(ctx, caller.Options{Components: []string{component}})
		must(t, err)
		return single(t, all, component)
	}

	step("1 machine", func(t *testing.T) {
		machine, err := d.Machine(ctx)
		must(t, err)
		_, err = json.Marshal(machine)
		must(t, err)
	})
	for _, kind := range []string{"json", "json gzip"} {
		step("2, 3 states "+kind, func(t *testing.T) { raw(t, d, "/v1/states", kinds[kind], &[]wire.States{}) })
	}
	step("4, 5 set-healthy", func(t *testing.T) {
		for path, want := range map[string]string{
			"/v1/health-states/set-healthy?components=disk": "disk",
			"/v1/health-states/set-healthy":                 "",
		} {
			var body wire.SetHealthy
			answer, err := d.Do(ctx, http.MethodPost, path, caller.Options{ContentType: caller.JSON})
			must(t, err)
			must(t, answer.Decode(caller.Options{}, &body))
			if _, failed := body.Failed["disk"]; failed || want != "" && !slices.Contains(body.Successful, want) {
				t.Fatalf("%s", answer.Body)
			}
		}
	})
	step("6 disk", func(t *testing.T) { one(t, "disk") })
	for kind, options := range kinds {
		step("7 "+kind, func(t *testing.T) {
			_, err := d.States(ctx, options)
			must(t, err)
			_, err = d.Info(ctx, options)
			must(t, err)
			options.Components = []string{"unknown!!!"}
			if _, err = d.States(ctx, options); err != caller.ErrNotFound {
				t.Fatalf("unknown component: %v", err)
			}
		})
	}
	step("8 init plugin", func(t *testing.T) {
		text, err := os.ReadFile(d.initFile)
		must(t, err)
		if !strings.Contains(string(text), d.word) {
			t.Fatalf("wrote %q", text)
		}
	})
	step("9 plugins", func(t *testing.T) {
		specs, err := d.Plugins(ctx, caller.Options{})
		must(t, err)
		modes := map[string]string{}
		for _, spec := range specs {
			modes[spec.Name] = spec.RunMode
		}
		if mode, there := modes[d.auto]; len(modes) != 2 || !there || mode != "" || modes[d.manual] != "manual" {
			t.Fatalf("%+v", specs)
		}
	})
	step("10 the manual plugin waits", func(t *testing.T) {
		time.Sleep(pause)
		absent(t, d.manualFile)
	})
	step("11, 12 trigger", func(t *testing.T) {
		all, err := d.Trigger(ctx, d.manual)
		must(t, err)
		isManual(t, d, single(t, all, d.manual))
		_, err = os.Stat(d.manualFile)
		must(t, err)
	})
	step("13 manual state", func(t *testing.T) { isManual(t, d, one(t, d.manual)) })
	step("14 auto state", func(t *testing.T) {
		time.Sleep(pause)
		for _, file := range []string{d.autoFile, d.autoFile2} {
			_, err := os.Stat(file)
			must(t, err)
		}
		raw(t, d, "/v1/states", kinds["json"], &[]wire.States{})
		state := one(t, d.auto)
		if state.Health != wire.Healthy || state.Reason != "ok" || state.RunMode != "" || state.Time.IsZero() ||
			state.ExtraInfo["name"] != d.word || state.ExtraInfo["health"] != "degraded" || len(state.ExtraInfo) != 2 {
			t.Fatalf("%+v", state)
		}
	})
	step("15 deregister", func(t *testing.T) {
		must(t, d.Deregister(ctx, d.manual))
		must(t, d.Deregister(ctx, d.auto))
	})
	step("16 no plugins", func(t *testing.T) {
		specs, err := d.Plugins(ctx, caller.Options{})
		must(t, err)
		if len(specs) != 0 {
			t.Fatalf("%+v", specs)
		}
	})
	step("17 metrics", func(t *testing.T) {
		eventually(t, "samples of cpu and memory", 90*time.Second, func() bool {
			var metrics []wire.Metrics
			raw(t, d, "/v1/metrics", kinds["json"], &metrics)
			has := func(name string) bool {
				return slices.ContainsFunc(metrics, func(m wire.Metrics) bool { return m.Component == name })
			}
			return has("cpu") && has("memory")
		})
	})
	step("18 metrics gzip", func(t *testing.T) { raw(t, d, "/v1/metrics", kinds["json gzip"], &[]wire.Metrics{}) })
	step("19 exposition", func(t *testing.T) {
		answer, err := d.Do(ctx, http.MethodGet, "/metrics", caller.Options{})
		must(t, err)
		for _, word := range []string{"health_state_healthy", "health_state_unhealthy", "health_state_degraded"} {
			if answer.Status != http.StatusOK || !strings.Contains(string(answer.Body), word) {
				t.Fatalf("status %d, no %s in:\n%s", answer.Status, word, answer.Body)
			}
		}
	})
	step("20 machine-info", func(t *testing.T) { run(t, "machine-info", "--log-level", "debug") })
}

// raw asks without the client's functions and decodes what comes.
func raw(t *testing.T, d *daemon, path string, options caller.Options, into any) {
	t.Helper()
	answer, err := d.Do(context.Background(), http.MethodGet, path, options)
	must(t, err)
	if options.Gzip && answer.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("%s: Content-Encoding is %q", path, answer.Header.Get("Content-Encoding"))
	}
	must(t, answer.Decode(options, into))
}

// single is the one state of the one component.
func single(t *testing.T, all []wire.States, component string) wire.State {
	t.Helper()
	if len(all) != 1 || all[0].Component != component || len(all[0].States) != 1 {
		t.Fatalf("one state of %s was wanted: %+v", component, all)
	}
	return all[0].States[0]
}

// isManual checks the state of the plugin that fails.
func isManual(t *testing.T, d *daemon, state wire.State) {
	t.Helper()
	if state.Component != d.manual || state.ComponentType != "custom-plugin" || state.RunMode != "manual" ||
		state.Health != wire.Unhealthy {
		t.Fatalf("%+v", state)
	}
}
