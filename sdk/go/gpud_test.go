package gpud_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gpud.internal/gpud"
	"gpud.internal/gpud/gpudtest"
	"gpud.internal/gpud/state"
	"gpud.internal/gpud/sysfs"
)

func TestErrorsSayWhatTheHostSays(t *testing.T) {
	for _, c := range []struct {
		err  gpud.AccessError
		text string
	}{
		{gpud.AccessError{Kind: gpud.ErrDenied, What: "/a"}, "/a: permission denied"},
		{gpud.AccessError{Kind: gpud.ErrNotFound, What: "/a"}, "/a: not found"},
		{gpud.AccessError{Kind: gpud.ErrTooLarge, What: "/a", Size: 3, Limit: 2}, "/a: 3 is more than the limit of 2"},
		{gpud.AccessError{Kind: gpud.ErrTimedOut, What: "/a", After: 5 * time.Second}, "/a: no answer for 5000 ms"},
		{gpud.AccessError{Kind: gpud.ErrSourceLost, What: "GPU 1"}, "GPU 1: lost"},
		{gpud.AccessError{Kind: gpud.ErrOther, What: "as it is"}, "as it is"},
		{gpud.AccessError{What: "as it is"}, "as it is"},
	} {
		if text := c.err.Error(); text != c.text {
			t.Errorf("%q, not %q", text, c.text)
		}
		wrapped := fmt.Errorf("reading: %w", &c.err)
		if c.err.Kind != nil && !errors.Is(wrapped, c.err.Kind) {
			t.Errorf("%v is not %v", wrapped, c.err.Kind)
		}
		if errors.Is(wrapped, fs.ErrNotExist) != (c.err.Kind == gpud.ErrNotFound) {
			t.Errorf("%v and fs.ErrNotExist", wrapped)
		}
	}
}

func TestJudge(t *testing.T) {
	ctx := &gpud.Context{Component: "c"}
	report := gpud.Judge(ctx, []gpud.Result{{Name: "a", Health: gpud.Healthy, Reason: "fine"}}, "all fine")
	if one := report.States[0]; one.Health != gpud.Healthy || one.Reason != "all fine" || one.Name != "c" {
		t.Errorf("%+v", one)
	}
	var many []gpud.Result
	for i := range 10 {
		many = append(many, gpud.Result{Name: fmt.Sprint(i), Health: gpud.Degraded, Reason: "warm",
			Action: gpud.HardwareInspection, Advice: "look", Path: "/p"})
	}
	many[9].Health = gpud.Unhealthy
	one := gpud.Judge(ctx, many, "").States[0]
	if one.Health != gpud.Unhealthy || !strings.HasPrefix(one.Reason, "9: warm; 0: warm; 1: warm") ||
		!strings.HasSuffix(one.Reason, "3: warm; and 5 more") {
		t.Errorf("%s: %s", one.Health, one.Reason)
	}
	if len(one.SuggestedActions.RepairActions) != 1 || one.SuggestedActions.Description != "look" {
		t.Errorf("%+v", one.SuggestedActions)
	}
}

func FuzzTruncate(f *testing.F) {
	f.Add("häufig", 4)
	f.Add("", 0)
	f.Fuzz(func(t *testing.T, text string, most int) {
		cut := gpud.Truncate(text, most)
		if len(cut) > max(most, 0) && len(text) > most {
			t.Errorf("%q is longer than %d", cut, most)
		}
		if utf8.ValidString(text) && !utf8.ValidString(cut) {
			t.Errorf("%q is cut within a character", cut)
		}
	})
}

type counting struct{ fail bool }

func (c counting) Check(ctx *gpud.Context) (*gpud.Report, error) {
	var count int
	if _, err := state.GetJSON("count", &count); err != nil {
		return nil, err
	}
	if err := state.SetJSON("count", count+1); err != nil {
		return nil, err
	}
	if c.fail {
		return nil, errors.New("failed")
	}
	return gpud.ReportOf(gpud.HealthyState(ctx, fmt.Sprint(count))), nil
}

func TestTheFakeHostKeepsWhatAGoodCheckWrote(t *testing.T) {
	host := gpudtest.New(t)
	for i, fail := range []bool{false, true, false} {
		if _, err := host.Check(counting{fail}); (err != nil) != fail {
			t.Errorf("check %d: %v", i, err)
		}
	}
	if kept := string(host.State["count"]); kept != "2" {
		t.Errorf("%s", kept)
	}
}

func TestTheFakeHostsFiles(t *testing.T) {
	host := gpudtest.New(t)
	host.Files["/sys/a/b1"], host.Files["/sys/a/b2"], host.Files["/sys/a/c/d"] = "1\n", "\xff\n", "3"
	host.Errors["/sys/a/b3"] = gpud.ErrTimedOut
	host.Filesystems["/"] = sysfs.Usage{TotalBytes: 2}
	found, err := sysfs.ReadGlob("/sys/a/b*", 10, 10)
	if err != nil || len(found) != 3 || found[0].Text() != "1" || found[1].Text() != "\uFFFD" ||
		!errors.Is(found[2].Err, gpud.ErrTimedOut) {
		t.Errorf("%v %v", found, err)
	}
	if _, err := sysfs.ReadGlob("/sys/a/b*", 10, 1); !errors.Is(err, gpud.ErrTooLarge) {
		t.Errorf("%v", err)
	}
	entries, err := sysfs.ListDirectory("/sys/a", 10)
	if err != nil || len(entries) != 3 || entries[2] != (sysfs.Entry{Name: "c", Kind: sysfs.Directory}) {
		t.Errorf("%v %v", entries, err)
	}
	space, err := sysfs.StatVFSAll([]string{"/", "/none"})
	if err != nil || len(space) != 2 || space[0].Err != nil || space[0].Usage.TotalBytes != 2 {
		t.Error(space, err)
	}
	if !errors.Is(space[1].Err, fs.ErrNotExist) || space[1].Path != "/none" {
		t.Error(space[1])
	}
	if _, err := sysfs.StatVFSAll(make([]string, 1025)); !errors.Is(err, gpud.ErrTooLarge) {
		t.Error(err)
	}
	if _, err := sysfs.Read("/sys/a/b1", 1); !errors.Is(err, gpud.ErrTooLarge) {
		t.Errorf("%v", err)
	}
	if _, err := sysfs.Read("/sys/none", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
