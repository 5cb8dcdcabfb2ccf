package main

import (
	"fmt"
	"strconv"
	"strings"

	"gpud.internal/gpud"
)

const metric = "available_memory_bytes"

// schema is what an operator can configure, as JSON schema. gpud refuses what does not fit.
const schema = `{"type": "object", "additionalProperties": false, "properties": {
  "min_available_percent": {"type": "integer", "minimum": 0, "maximum": 100}}}`

// settings are the configuration.
type settings struct {
	// MinAvailablePercent: less available memory than this is too little, percent of all memory.
	MinAvailablePercent float64 `json:"min_available_percent"`
}

// kibibytes is the number in the line of /proc/meminfo that begins with name.
func kibibytes(meminfo, name string) (float64, bool) {
	for line := range strings.Lines(meminfo) {
		if value, found := strings.CutPrefix(line, name); found {
			value = strings.TrimSuffix(strings.TrimSpace(value), " kB")
			number, err := strconv.ParseUint(value, 10, 64)
			return float64(number), err == nil
		}
	}
	return 0, false
}

// judge is the verdict over the content of /proc/meminfo.
func judge(ctx *gpud.Context, settings settings, meminfo string) *gpud.Report {
	total, hasTotal := kibibytes(meminfo, "MemTotal:")
	available, hasAvailable := kibibytes(meminfo, "MemAvailable:")
	if !hasTotal || !hasAvailable || total == 0 || available > total {
		const reason = "/proc/meminfo does not say how much memory is available"
		return gpud.ReportOf(gpud.DegradedState(ctx, reason))
	}
	percent := int(available * 100 / total)
	reason := fmt.Sprintf("%d %% of memory is available", percent)
	state := gpud.HealthyState(ctx, reason)
	if limit := settings.MinAvailablePercent; float64(percent) < limit {
		reason = fmt.Sprintf("%s, less than %g %%", reason, limit)
		state = gpud.DegradedState(ctx, reason).WithAction(gpud.CheckUserAppAndGPU, "end or limit what uses the memory")
	}
	return gpud.ReportOf(state).AddGauge(metric, available*1024)
}
