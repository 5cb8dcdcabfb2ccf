package sysfs

import "testing"

func TestText(t *testing.T) {
	for content, text := range map[string]string{
		"":                "",
		" \n\t":           "",
		"45500\n":         "45500",
		"\u00a0a b\u2003": "a b",
		"\xff\n":          "\uFFFD",
		"a\xff\xfeb ":     "a\uFFFDb",
		" \x85a":          "\uFFFDa",
	} {
		if got := Text([]byte(content)); got != text {
			t.Errorf("%q: %q, not %q", content, got, text)
		}
	}
}
