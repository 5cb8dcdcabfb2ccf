package kmsg

import (
	"gpud.internal/gpud/internal/convert"
	wit "gpud.internal/gpud/internal/wit/gpud_plugin_kmsg"
)

func readBack(patterns []string, maxMessages uint32) (*LookBack, error) {
	found, err := convert.Result(wit.ReadBack(patterns, maxMessages))
	if err != nil {
		return nil, err
	}
	return &LookBack{convert.Messages(found.Messages), found.Scanned, found.Unparsable}, nil
}
