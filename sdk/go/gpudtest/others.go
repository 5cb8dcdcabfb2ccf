//go:build !wasip1

package gpudtest

import (
	"bytes"
	"regexp"
	"sort"
	"strings"
	"time"

	"gpud.internal/gpud"
	"gpud.internal/gpud/exec"
	"gpud.internal/gpud/history"
	"gpud.internal/gpud/kmsg"
	"gpud.internal/gpud/log"
	"gpud.internal/gpud/net"
)

// Bounds of the contract.
const (
	maxKeys     = 256
	maxValue    = 64 << 10
	maxLogLines = 64
)

type settings struct{ *Host }

func (h settings) Document() string { return h.Config }

type values struct{ *Host }

func (h values) Get(key string) ([]byte, error) {
	if err := h.fault("state", key); err != nil {
		return nil, err
	}
	return bytes.Clone(h.State[key]), nil
}

func (h values) Set(key string, value []byte) error {
	if err := h.fault("state", key); err != nil {
		return err
	}
	if len(value) > maxValue {
		return tooLarge("value of "+key, len(value), maxValue)
	}
	if _, known := h.State[key]; !known && len(h.State) >= maxKeys {
		return tooLarge("keys", len(h.State)+1, maxKeys)
	}
	h.State[key] = append([]byte{}, value...)
	return nil
}

func (h values) Delete(key string) error {
	if err := h.fault("state", key); err != nil {
		return err
	}
	delete(h.State, key)
	return nil
}

func (h values) Keys(prefix string) ([]string, error) {
	if err := h.fault("state", prefix); err != nil {
		return nil, err
	}
	var out []string
	for key := range h.State {
		if strings.HasPrefix(key, prefix) {
			out = append(out, key)
		}
	}
	sort.Strings(out)
	return out, nil
}

type programs struct{ *Host }

func (h programs) run(program string, arguments []string, options exec.Options) (*exec.Output, error) {
	if err := h.fault("exec", program); err != nil {
		return nil, err
	}
	if h.Programs == nil {
		return nil, notFound(program)
	}
	output, err := h.Programs(program, arguments, options)
	if err != nil {
		return nil, err
	}
	cut := *output
	most := int(options.MaxOutputBytes)
	cut.Truncated = cut.Truncated || len(cut.Stdout) > most || len(cut.Stderr) > most
	cut.Stdout = cut.Stdout[:min(len(cut.Stdout), most)]
	cut.Stderr = cut.Stderr[:min(len(cut.Stderr), most)]
	return &cut, nil
}

func (h programs) RunBash(script string, options exec.Options) (*exec.Output, error) {
	return h.run("bash", []string{script}, options)
}

func (h programs) RunProgram(program string, arguments []string, options exec.Options) (*exec.Output, error) {
	return h.run(program, arguments, options)
}

type messages struct{ *Host }

func (h messages) ReadBack(patterns []string, maxMessages uint32) (*kmsg.LookBack, error) {
	if err := h.fault("kmsg", "kernel log"); err != nil {
		return nil, err
	}
	var all []*regexp.Regexp
	for _, pattern := range patterns {
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return nil, &gpud.AccessError{Kind: gpud.ErrInvalidArgument, What: err.Error()}
		}
		all = append(all, compiled)
	}
	found := &kmsg.LookBack{Scanned: uint64(len(h.Kmsg))}
	for _, message := range h.Kmsg {
		for _, pattern := range all {
			if pattern.MatchString(message.Text) {
				found.Messages = append(found.Messages, message)
				break
			}
		}
	}
	if more := len(found.Messages) - int(maxMessages); more > 0 {
		found.Messages = found.Messages[more:]
	}
	return found, nil
}

type past struct{ *Host }

func (h past) OwnEvents(since time.Time, limit uint32) ([]history.StoredEvent, error) {
	if err := h.fault("history", "own events"); err != nil || h.NoStore {
		return nil, err
	}
	var out []history.StoredEvent
	for _, event := range h.Events {
		if event.Event.Time.Unix() > since.Unix() && len(out) < int(limit) {
			out = append(out, event)
		}
	}
	return out, nil
}

func (h past) later(what string, since time.Time, all []time.Time) ([]time.Time, error) {
	if err := h.fault("history", what); err != nil || h.NoStore {
		return nil, err
	}
	var out []time.Time
	for _, moment := range all {
		if moment.Unix() > since.Unix() {
			out = append(out, moment)
		}
	}
	return out, nil
}

func (h past) Reboots(since time.Time) ([]time.Time, error) {
	return h.later("reboots", since, h.Host.Reboots)
}

func (h past) SetHealthyMarks(since time.Time) ([]time.Time, error) {
	return h.later("set-healthy marks", since, h.Host.SetHealthyMarks)
}

func (h past) Available() bool { return !h.NoStore }

type services struct{ *Host }

func (h services) HTTPGet(request net.Request) (*net.Response, error) {
	if err := h.fault("net", request.Path); err != nil {
		return nil, err
	}
	if h.HTTP == nil {
		return nil, notFound(request.Path)
	}
	response, err := h.HTTP(request)
	if err == nil && len(response.Body) > int(request.MaxBodyBytes) {
		return nil, tooLarge(request.Path, len(response.Body), request.MaxBodyBytes)
	}
	return response, err
}

func (h services) TCPConnect(host string, port uint16, _ time.Duration) (time.Duration, error) {
	if err := h.fault("net", host); err != nil {
		return 0, err
	}
	if h.TCP == nil {
		return 0, notFound(host)
	}
	return h.TCP(host, port)
}

type lines struct{ *Host }

func (h lines) Write(level log.Level, message string) {
	words := [...]string{"debug", "info", "warn", "error"}
	if len(h.Log) < maxLogLines {
		h.Log = append(h.Log, words[level&3]+": "+message)
	}
}
