//go:build !wasip1

package gpudtest

import (
	"path"
	"slices"
	"sort"
	"strings"

	"gpud.internal/gpud"
	"gpud.internal/gpud/sysfs"
)

// fault is what stands in the way of an answer, if anything does.
func (h *Host) fault(capability, what string) error {
	if h.Denied[capability] {
		return &gpud.AccessError{Kind: gpud.ErrDenied, What: what}
	}
	return named(h.Errors[what], what)
}

// named makes an error that a test gave one of the host's.
func named(err error, what string) error {
	switch err := err.(type) {
	case nil:
		return nil
	case *gpud.AccessError:
		if err.What == "" {
			named := *err
			named.What = what
			return &named
		}
		return err
	default:
		return &gpud.AccessError{Kind: err, What: what}
	}
}

func notFound(what string) error { return &gpud.AccessError{Kind: gpud.ErrNotFound, What: what} }

func tooLarge(what string, size int, limit uint32) error {
	return &gpud.AccessError{Kind: gpud.ErrTooLarge, What: what, Size: uint64(size), Limit: uint64(limit)}
}

type files struct{ *Host }

func (h files) Read(name string, maxBytes uint32) ([]byte, error) {
	if err := h.fault("sysfs", name); err != nil {
		return nil, err
	}
	content, found := h.Files[name]
	if !found {
		return nil, notFound(name)
	}
	if len(content) > int(maxBytes) {
		return nil, tooLarge(name, len(content), maxBytes)
	}
	return []byte(content), nil
}

// paths are those of files and of errors, sorted.
func (h files) paths() []string {
	var out []string
	for name := range h.Files {
		out = append(out, name)
	}
	for name := range h.Errors {
		if _, also := h.Files[name]; !also && strings.HasPrefix(name, "/") {
			out = append(out, name)
		}
	}
	sort.Strings(out)
	return out
}

func matches(pattern, name string) bool {
	found, err := path.Match(pattern, name)
	return err == nil && found
}

func (h files) ReadGlob(pattern string, maxBytesEach, maxFiles uint32) ([]sysfs.File, error) {
	if err := h.fault("sysfs", pattern); err != nil {
		return nil, err
	}
	var out []sysfs.File
	for _, name := range h.paths() {
		if name != pattern && matches(pattern, name) {
			content, err := h.Read(name, maxBytesEach)
			out = append(out, sysfs.File{Path: name, Content: content, Err: err})
		}
	}
	if len(out) > int(maxFiles) {
		return nil, tooLarge(pattern, len(out), maxFiles)
	}
	return out, nil
}

func (h files) ListDirectory(folder string, maxEntries uint32) ([]sysfs.Entry, error) {
	if err := h.fault("sysfs", folder); err != nil {
		return nil, err
	}
	kinds := map[string]sysfs.Kind{}
	add := func(name string, kind sysfs.Kind) {
		rest, below := strings.CutPrefix(name, strings.TrimSuffix(folder, "/")+"/")
		if !below {
			return
		}
		if first, _, deeper := strings.Cut(rest, "/"); deeper {
			kinds[first] = sysfs.Directory
		} else if _, there := kinds[first]; !there {
			kinds[first] = kind
		}
	}
	for name := range h.Files {
		add(name, sysfs.RegularFile)
	}
	for name := range h.Links {
		add(name, sysfs.Link)
	}
	if len(kinds) == 0 {
		return nil, notFound(folder)
	}
	if len(kinds) > int(maxEntries) {
		return nil, tooLarge(folder, len(kinds), maxEntries)
	}
	var out []sysfs.Entry
	for name, kind := range kinds {
		out = append(out, sysfs.Entry{Name: name, Kind: kind})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

func (h files) CountEntries(pattern string, maxDirectories uint32) ([]sysfs.Count, error) {
	if err := h.fault("sysfs", pattern); err != nil {
		return nil, err
	}
	var folders []string
	for name := range h.Files {
		for folder := path.Dir(name); folder != "/"; folder = path.Dir(folder) {
			if matches(pattern, folder) {
				folders = append(folders, folder)
			}
		}
	}
	sort.Strings(folders)
	folders = slices.Compact(folders)
	if len(folders) > int(maxDirectories) {
		return nil, tooLarge(pattern, len(folders), maxDirectories)
	}
	var out []sysfs.Count
	for _, folder := range folders {
		entries, err := h.ListDirectory(folder, 65536)
		out = append(out, sysfs.Count{Path: folder, Entries: uint32(len(entries)), Err: err})
	}
	return out, nil
}

func (h files) ReadLink(name string) (string, error) {
	if err := h.fault("sysfs", name); err != nil {
		return "", err
	}
	target, found := h.Links[name]
	if !found {
		return "", notFound(name)
	}
	return target, nil
}

func (h files) Stat(name string) (sysfs.FileStat, error) {
	if err := h.fault("sysfs", name); err != nil {
		return sysfs.FileStat{}, err
	}
	if found, ok := h.Stats[name]; ok {
		return found, nil
	}
	content, found := h.Files[name]
	if found {
		return sysfs.FileStat{Size: uint64(len(content)), Mode: 0o444, Modified: h.Context.Now}, nil
	}
	if _, err := h.ListDirectory(name, 65536); err == nil {
		return sysfs.FileStat{Kind: sysfs.Directory, Mode: 0o555, Modified: h.Context.Now}, nil
	}
	return sysfs.FileStat{}, notFound(name)
}

func (h files) StatVFSAll(names []string) ([]sysfs.Space, error) {
	if len(names) > 1024 {
		return nil, tooLarge("paths", len(names), 1024)
	}
	out := make([]sysfs.Space, len(names))
	for i, name := range names {
		usage, err := h.StatVFS(name)
		out[i] = sysfs.Space{Path: name, Usage: usage, Err: err}
	}
	return out, nil
}

func (h files) StatVFS(name string) (sysfs.Usage, error) {
	if err := h.fault("sysfs", name); err != nil {
		return sysfs.Usage{}, err
	}
	usage, found := h.Filesystems[name]
	if !found {
		return sysfs.Usage{}, notFound(name)
	}
	return usage, nil
}
