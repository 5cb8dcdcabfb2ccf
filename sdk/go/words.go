package gpud

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxReasons is how many reasons Judge puts into words.
	maxReasons = 5
	// maxReason is the longest reason that the host takes, in bytes, less room for "and n more".
	maxReason = 4096 - 64
)

func (s *State) suggests(action RepairAction) bool {
	return s.SuggestedActions != nil && slices.Contains(s.SuggestedActions.RepairActions, action)
}

func joinReasons(reasons []string, more int) string {
	text := Truncate(strings.Join(reasons, "; "), maxReason)
	if more > 0 {
		text += "; and " + strconv.Itoa(more) + " more"
	}
	return text
}

// Truncate cuts text to at most max bytes without cutting a character in two; what was cut ends in "…".
func Truncate(text string, max int) string {
	const dots = "…"
	if len(text) <= max {
		return text
	}
	end := max - len(dots)
	if end < 0 {
		return ""
	}
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + dots
}
