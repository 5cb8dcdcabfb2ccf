package config_test

import (
	"testing"

	"gpud.internal/gpud/config"
	"gpud.internal/gpud/gpudtest"
)

func TestDecode(t *testing.T) {
	host := gpudtest.New(t)
	for _, c := range []struct {
		document string
		warn     int
		fails    bool
	}{
		{`{}`, 7, false},
		{`{ }`, 7, false},
		{`{"warn": 9}`, 9, false},
		{`{"wran": 9}`, 7, true},
		{`[]`, 7, true},
		{``, 7, true},
	} {
		host.Config = c.document
		into := struct{ Warn int }{7}
		if err := config.Decode(&into); (err != nil) != c.fails || into.Warn != c.warn {
			t.Errorf("%s: %d, %v", c.document, into.Warn, err)
		}
	}
}
