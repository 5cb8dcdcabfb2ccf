package goclient

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"gpud/tests/go-client/caller"
	"gpud/tests/go-client/wire"
)

// TestFunctions calls every function of the client in every way that it can ask.
func TestFunctions(t *testing.T) {
	d := startSettled(t)
	ctx := context.Background()
	must(t, d.Healthz(ctx))

	t.Run("machine", func(t *testing.T) {
		machine, err := d.Machine(ctx)
		must(t, err)
		if machine.Version == "" || machine.OperatingSystem != "linux" || machine.Uptime.IsZero() || machine.GPU == nil ||
			machine.CPU == nil || machine.CPU.LogicalCores < 1 || machine.Memory == nil || machine.Memory.TotalBytes == 0 {
			t.Fatalf("%+v", machine)
		}
	})
	for kind, options := range kinds {
		t.Run(kind, func(t *testing.T) { readers(t, d, options) })
	}
	t.Run("without options", func(t *testing.T) { readers(t, d, caller.Options{}) })
	t.Run("triggers", func(t *testing.T) {
		all, err := d.Trigger(ctx, "cpu")
		must(t, err)
		if state := single(t, all, "cpu"); state.Health != wire.Healthy || state.Time.IsZero() {
			t.Fatalf("%+v", state)
		}
		if _, err = d.Trigger(ctx, "unknown!!!"); err == nil {
			t.Fatal("an unknown component was triggered")
		}
		run, err := d.TriggerTag(ctx, "cpu")
		must(t, err)
		// The tag cpu is GPUd's: components of our own must not carry it, or gates of its users judge more than before.
		if run.Exit != 0 || !slices.Equal(run.Components, []string{"cpu"}) {
			t.Fatalf("%+v", run)
		}
		run, err = d.TriggerTag(ctx, "nobody's")
		must(t, err)
		if run.Exit != 0 || run.Components == nil || len(run.Components) != 0 {
			t.Fatalf("%+v", run)
		}
		run, err = d.TriggerTag(ctx, "by-hand")
		if err == nil || run.Exit != 1 || !slices.Equal(run.Components, []string{d.manual}) {
			t.Fatalf("%+v, %v", run, err)
		}
	})
	t.Run("set-healthy", func(t *testing.T) {
		names, err := d.SetHealthy(ctx, []string{"disk", "memory"})
		must(t, err)
		slices.Sort(names)
		if !slices.Equal(names, []string{"disk", "memory"}) {
			t.Fatal(names)
		}
		if names, err = d.SetHealthy(ctx, nil); err != nil || !slices.Contains(names, "disk") {
			t.Fatal(names, err)
		}
		if names, err = d.SetHealthy(ctx, []string{"disk", "cpu"}); err == nil || !strings.Contains(err.Error(), "cpu") {
			t.Fatal("cpu knows no set-healthy, one failed is an error", names, err)
		}
		for name, status := range map[string]string{"cpu": "status 400", "unknown!!!": "status 404"} {
			if _, err = d.SetHealthy(ctx, []string{name}); err == nil || !strings.Contains(err.Error(), status) {
				t.Fatal(name, err)
			}
		}
	})
	t.Run("packages", func(t *testing.T) {
		packages, err := d.Packages(ctx)
		must(t, err)
		if len(packages) != 0 {
			t.Fatalf("%+v", packages)
		}
	})
	t.Run("deregister", func(t *testing.T) {
		for _, name := range []string{"cpu", "unknown!!!", ""} {
			if err := d.Deregister(ctx, name); err == nil {
				t.Fatalf("%q was removed", name)
			}
		}
		must(t, d.Deregister(ctx, d.manual))
		if _, err := d.States(ctx, caller.Options{Components: []string{d.manual}}); err != caller.ErrNotFound {
			t.Fatal(err)
		}
	})
}

// readers are the functions that take options.
func readers(t *testing.T, d *daemon, options caller.Options) {
	ctx := context.Background()
	named := func(names ...string) caller.Options {
		narrowed := options
		narrowed.Components = names
		return narrowed
	}
	names, err := d.Components(ctx, options)
	must(t, err)
	if !slices.IsSorted(names) || !slices.Contains(names, "cpu") || !slices.Contains(names, d.auto) {
		t.Fatal(names)
	}
	states, err := d.States(ctx, named("memory", "cpu"))
	must(t, err)
	if len(states) != 2 || states[0].Component != "memory" || states[1].Component != "cpu" {
		t.Fatalf("the order of the request: %+v", states)
	}
	states, err = d.States(ctx, options)
	must(t, err)
	everything, err := d.States(ctx, named(""))
	must(t, err)
	if len(states) == 0 || len(everything) != len(states) {
		t.Fatalf("an empty name is all: %d, %d", len(states), len(everything))
	}
	before := time.Now().Add(-time.Minute)
	info, err := d.Info(ctx, named("cpu"))
	must(t, err)
	if len(info) != 1 || info[0].Component != "cpu" || len(info[0].Info.States) != 1 || info[0].StartTime.Before(before) {
		t.Fatalf("%+v", info)
	}
	events, err := d.Events(ctx, options)
	must(t, err)
	if len(events) != len(states) || events[0].StartTime.Before(before) || events[0].EndTime.Before(before) {
		t.Fatalf("%+v", events)
	}
	metrics, err := d.Metrics(ctx, options)
	must(t, err)
	if metrics == nil {
		t.Fatal("no samples are [], not null")
	}
	specs, err := d.Plugins(ctx, options)
	must(t, err)
	for _, spec := range specs {
		if spec.Name == d.auto && (spec.Interval.Duration != time.Minute || spec.Timeout.Duration != time.Minute) {
			t.Fatalf("%+v", spec)
		}
	}
	if _, err = d.States(ctx, named("unknown!!!")); err != caller.ErrNotFound {
		t.Fatal(err)
	}
	if _, err = d.Info(ctx, named("unknown!!!")); err == nil {
		t.Fatal("an unknown component has info")
	}
}

// TestBytes holds what a decoder would forgive: bytes, headers and shapes.
func TestBytes(t *testing.T) {
	d := startSettled(t)
	get := func(t *testing.T, method, path string, options caller.Options) caller.Answer {
		t.Helper()
		answer, err := d.Do(context.Background(), method, path, options)
		must(t, err)
		return answer
	}
	for _, test := range []struct {
		method, path, contentType string
		status                    int
		body                      string
	}{
		{"GET", "/healthz", "", 200, `{"status":"ok","version":"v1"}`},
		{"GET", "/v1/states?components=unknown", "", 404,
			`{"code":{},"message":"component not found: component unknown not found (not found)"}`},
		{"GET", "/v1/states", "application/json; charset=utf-8", 400, `{"code":{},"message":"invalid content type"}`},
		{"GET", "/v1/components", "text/html", 400, `{"code":{},"message":"invalid content type"}`},
		{"GET", "/v1/events?startTime=x", "", 400,
			`{"code":{},"message":"failed to parse time: strconv.ParseInt: parsing \"x\": invalid syntax"}`},
		{"GET", "/v1/metrics?since=x", "", 400,
			`{"code":{},"message":"failed to parse duration: time: invalid duration \"x\""}`},
		{"GET", "/v1/components/trigger-check", "", 400, `{"code":{},"message":"component or tag name is required"}`},
		{"GET", "/v1/components/trigger-check?componentName=x", "", 404, `{"code":{},"message":"component not found"}`},
		{"GET", "/v1/components/trigger-check?tagName=nobodys", "", 200, `[]`},
		{"GET", "/v1/components/trigger-tag", "", 400, `{"error":"tagName parameter is required"}`},
		{"GET", "/v1/components/trigger-tag?tagName=nobodys", "", 200, `{"components":[],"exit":0,"success":true}`},
		{"DELETE", "/v1/components", "", 400, `{"code":{},"message":"component name is required"}`},
		{"DELETE", "/v1/components?componentName=x", "", 404, `{"code":{},"message":"component not found"}`},
		{"DELETE", "/v1/components?componentName=cpu", "", 400, `{"code":{},"message":"component is not deregisterable"}`},
		{"DELETE", "/v1/components?componentName=" + d.manual, "", 200,
			`{"code":200,"component":"` + d.manual + `","message":"component deregistered"}`},
		{"POST", "/v1/health-states/set-healthy?components=disk", "", 200,
			`{"code":200,"message":"set healthy states completed","successful":["disk"]}`},
		{"POST", "/v1/health-states/set-healthy?components=cpu", "", 400,
			`{"code":400,"message":"failed to set any component to healthy",` +
				`"failed":{"cpu":"component does not support setting healthy state"}}`},
		{"POST", "/v1/health-states/set-healthy?components=x", "", 404,
			`{"code":404,"message":"component x not found (not found)"}`},
		{"POST", "/inject-fault", "", 400, `{"code":{},"message":"failed to decode request body: EOF"}`},
		{"GET", "/admin/packages", "", 200, `null`},
		{"GET", "/v1/health-states/set-healthy", "", 404, `404 page not found`},
		{"HEAD", "/healthz", "", 404, ``},
		{"GET", "/v1", "", 404, `404 page not found`},
	} {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			answer := get(t, test.method, test.path, caller.Options{ContentType: test.contentType})
			if answer.Status != test.status || string(answer.Body) != test.body {
				t.Fatalf("got  %d %s\nwant %d %s", answer.Status, answer.Body, test.status, test.body)
			}
		})
	}
	t.Run("types", func(t *testing.T) {
		for contentType, want := range map[string]string{
			caller.JSON: "application/json; charset=utf-8",
			caller.YAML: "text/plain; charset=utf-8",
		} {
			answer := get(t, http.MethodGet, "/v1/states", caller.Options{ContentType: contentType})
			if got := answer.Header.Get("Content-Type"); got != want {
				t.Errorf("%s is answered as %s", contentType, got)
			}
			if answer.Header.Get("X-Request-Id") == "" {
				t.Error("no request id")
			}
		}
	})
	t.Run("small and bad bodies are compressed", func(t *testing.T) {
		for _, path := range []string{"/v1/states?components=unknown", "/v1/components/trigger-tag"} {
			answer := get(t, http.MethodGet, path, caller.Options{Gzip: true})
			if answer.Header.Get("Content-Encoding") != "gzip" || !bytes.HasPrefix(answer.Body, []byte{0x1f, 0x8b}) {
				t.Errorf("%s: %v", path, answer.Header)
			}
		}
		if answer := get(t, http.MethodGet, "/healthz", caller.Options{Gzip: true}); answer.Body[0] != '{' {
			t.Error("/healthz is never compressed")
		}
	})
	t.Run("no newline at the end", func(t *testing.T) {
		for _, path := range []string{"/v1/states", "/v1/info", "/machine-info", "/v1/plugins", "/admin/config"} {
			answer := get(t, http.MethodGet, path, caller.Options{})
			if !json.Valid(answer.Body) || bytes.HasSuffix(answer.Body, []byte("\n")) {
				t.Errorf("%s ends in %q", path, answer.Body[max(0, len(answer.Body)-10):])
			}
		}
	})
}
