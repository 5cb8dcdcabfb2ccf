package caller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"gpud/tests/go-client/wire"
)

// healthy is the one body of /healthz that the published client takes, to the byte.
const healthy = `{"status":"ok","version":"v1"}`

// Healthz succeeds if /healthz answers with exactly the right bytes.
func (c *Caller) Healthz(ctx context.Context) error {
	answer, err := c.Do(ctx, http.MethodGet, "/healthz", Options{})
	if err != nil {
		return err
	}
	if answer.Status != http.StatusOK || string(answer.Body) != healthy {
		return fmt.Errorf("status %d, body %q", answer.Status, answer.Body)
	}
	return nil
}

// WaitUntilReady tries Healthz up to 30 times, the first after a second.
func (c *Caller) WaitUntilReady(ctx context.Context) error {
	err := errors.New("never asked")
	for range 30 {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(tick):
		}
		if err = c.Healthz(ctx); err == nil {
			return nil
		}
	}
	return fmt.Errorf("not ready after 30 tries: %w", err)
}

// Machine reads the inventory.
func (c *Caller) Machine(ctx context.Context) (machine wire.Machine, err error) {
	err = c.get(ctx, "/machine-info", Options{}, &machine)
	return machine, err
}

// Components lists the names.
func (c *Caller) Components(ctx context.Context, options Options) (names []string, err error) {
	err = c.get(ctx, "/v1/components", options, &names)
	return names, err
}

// States reads health states; a component that does not exist is ErrNotFound.
func (c *Caller) States(ctx context.Context, options Options) (states []wire.States, err error) {
	err = c.getKnown(ctx, named("/v1/states", options), options, &states)
	return states, err
}

// Info reads states, events and metrics at once.
func (c *Caller) Info(ctx context.Context, options Options) (info []wire.Info, err error) {
	err = c.get(ctx, named("/v1/info", options), options, &info)
	return info, err
}

// Events reads events. No look-back can be asked for, so there are nearly never any.
func (c *Caller) Events(ctx context.Context, options Options) (events []wire.Events, err error) {
	err = c.get(ctx, "/v1/events", options, &events)
	return events, err
}

// Metrics reads the samples of the last half hour.
func (c *Caller) Metrics(ctx context.Context, options Options) (metrics []wire.Metrics, err error) {
	err = c.get(ctx, "/v1/metrics", options, &metrics)
	return metrics, err
}

// Plugins lists the script plugins.
func (c *Caller) Plugins(ctx context.Context, options Options) (specs []wire.Spec, err error) {
	err = c.getKnown(ctx, "/v1/plugins", options, &specs)
	return specs, err
}

// Trigger runs one component's check now.
func (c *Caller) Trigger(ctx context.Context, component string) (states []wire.States, err error) {
	err = c.get(ctx, with("/v1/components/trigger-check", "componentName", component), Options{}, &states)
	return states, err
}

// TriggerTag runs the checks with a tag; it fails if one of them is not healthy.
func (c *Caller) TriggerTag(ctx context.Context, tag string) (run wire.TagRun, err error) {
	if err = c.get(ctx, with("/v1/components/trigger-tag", "tagName", tag), Options{}, &run); err != nil {
		return run, err
	}
	if !run.Success {
		return run, fmt.Errorf("not healthy among %v", run.Components)
	}
	return run, nil
}

// Deregister removes a plugin.
func (c *Caller) Deregister(ctx context.Context, component string) error {
	answer, err := c.Do(ctx, http.MethodDelete, with("/v1/components", "componentName", component), Options{})
	if err == nil && answer.Status != http.StatusOK {
		err = fmt.Errorf("status %d: %s", answer.Status, answer.Body)
	}
	return err
}

// SetHealthy marks components repaired, all without names. A good answer that names none stands for those asked for.
func (c *Caller) SetHealthy(ctx context.Context, components []string) ([]string, error) {
	path := "/v1/health-states/set-healthy"
	if len(components) > 0 {
		path = with(path, "components", strings.Join(components, ","))
	}
	answer, err := c.Do(ctx, http.MethodPost, path, Options{})
	if err != nil {
		return nil, err
	}
	if answer.Status != http.StatusOK {
		return nil, fmt.Errorf("status %d: %s", answer.Status, answer.Body)
	}
	var body wire.SetHealthy
	if err := json.Unmarshal(answer.Body, &body); err != nil || len(body.Successful) == 0 && len(body.Failed) == 0 {
		return components, nil
	}
	if len(body.Failed) > 0 {
		return body.Successful, fmt.Errorf("failed: %v", body.Failed)
	}
	return body.Successful, nil
}

// Packages reads the package manager's rows from a complete URL, as the published client does.
func (c *Caller) Packages(ctx context.Context) (packages []wire.Package, err error) {
	err = c.get(ctx, "/admin/packages", Options{}, &packages)
	return packages, err
}
