package sysfs

import (
	"gpud.internal/gpud/internal/convert"
	wit "gpud.internal/gpud/internal/wit/gpud_plugin_sysfs"
)

func read(path string, maxBytes uint32) ([]byte, error) {
	return convert.Result(wit.Read(path, maxBytes))
}

func readGlob(pattern string, maxBytesEach, maxFiles uint32) ([]File, error) {
	found, err := convert.Result(wit.ReadGlob(pattern, maxBytesEach, maxFiles))
	if err != nil {
		return nil, err
	}
	out := make([]File, len(found))
	for i, file := range found {
		content, err := convert.Result(file.Content)
		out[i] = File{Path: file.Path, Content: content, Err: err}
	}
	return out, nil
}

func listDirectory(path string, maxEntries uint32) ([]Entry, error) {
	found, err := convert.Result(wit.ListDirectory(path, maxEntries))
	if err != nil {
		return nil, err
	}
	out := make([]Entry, len(found))
	for i, entry := range found {
		out[i] = Entry{Name: entry.Name, Kind: Kind(entry.Kind)}
	}
	return out, nil
}

func countEntries(pattern string, maxDirectories uint32) ([]Count, error) {
	found, err := convert.Result(wit.CountEntries(pattern, maxDirectories))
	if err != nil {
		return nil, err
	}
	out := make([]Count, len(found))
	for i, one := range found {
		count, err := convert.Result(one.Count)
		out[i] = Count{Path: one.Path, Entries: count, Err: err}
	}
	return out, nil
}

func readLink(path string) (string, error) { return convert.Result(wit.ReadLink(path)) }

func stat(path string) (FileStat, error) {
	found, err := convert.Result(wit.Stat(path))
	if err != nil {
		return FileStat{}, err
	}
	return FileStat{
		Kind: Kind(found.Kind), Size: found.Size, Mode: found.Mode, Modified: convert.Time(found.Modified),
		DeviceMajor: found.DeviceMajor, DeviceMinor: found.DeviceMinor, UID: found.Uid,
	}, nil
}

func statVFS(path string) (Usage, error) {
	found, err := convert.Result(wit.Statvfs(path))
	if err != nil {
		return Usage{}, err
	}
	return usage(found), nil
}

func statVFSAll(paths []string) ([]Space, error) {
	found, err := convert.Result(wit.StatvfsAll(paths))
	if err != nil {
		return nil, err
	}
	out := make([]Space, len(found))
	for i, one := range found {
		space, err := convert.Result(one)
		out[i] = Space{Path: paths[i], Usage: usage(space), Err: err}
	}
	return out, nil
}

func usage(found wit.FsUsage) Usage {
	return Usage{
		TotalBytes: found.TotalBytes, FreeBytes: found.FreeBytes, AvailableBytes: found.AvailableBytes,
		TotalInodes: found.TotalInodes, FreeInodes: found.FreeInodes, ReadOnly: found.ReadOnly,
	}
}
