//go:build !wasip1

package sysfs

import "gpud.internal/gpud/internal/nohost"

// Backend stands behind this package in native builds; package gpudtest has one.
type Backend interface {
	Read(path string, maxBytes uint32) ([]byte, error)
	ReadGlob(pattern string, maxBytesEach, maxFiles uint32) ([]File, error)
	ListDirectory(path string, maxEntries uint32) ([]Entry, error)
	CountEntries(pattern string, maxDirectories uint32) ([]Count, error)
	ReadLink(path string) (string, error)
	Stat(path string) (FileStat, error)
	StatVFS(path string) (Usage, error)
	StatVFSAll(paths []string) ([]Space, error)
}

var backend Backend

// SetBackend puts a backend in place and gives the one that was there.
func SetBackend(b Backend) Backend {
	before := backend
	backend = b
	return before
}

func host() Backend { return nohost.Require(backend, backend != nil) }

func read(path string, maxBytes uint32) ([]byte, error) { return host().Read(path, maxBytes) }
func readGlob(pattern string, maxBytesEach, maxFiles uint32) ([]File, error) {
	return host().ReadGlob(pattern, maxBytesEach, maxFiles)
}
func listDirectory(path string, maxEntries uint32) ([]Entry, error) {
	return host().ListDirectory(path, maxEntries)
}
func countEntries(pattern string, maxDirectories uint32) ([]Count, error) {
	return host().CountEntries(pattern, maxDirectories)
}
func readLink(path string) (string, error) { return host().ReadLink(path) }
func stat(path string) (FileStat, error)   { return host().Stat(path) }
func statVFS(path string) (Usage, error)   { return host().StatVFS(path) }
func statVFSAll(paths []string) ([]Space, error) {
	return host().StatVFSAll(paths)
}
