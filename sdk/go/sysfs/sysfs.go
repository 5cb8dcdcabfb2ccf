// Package sysfs reads small files of sysfs and procfs and asks for the state of mounted filesystems, under path
// patterns that the operator granted ("sysfs:" and "statvfs:" in a spec; "*" within one path segment, "**" across
// segments).
//
// Paths are absolute, without "." or "..". Symbolic links are followed only to places that are granted as well. A read
// that the kernel does not answer within 5 seconds is gpud.ErrTimedOut.
package sysfs

import (
	"bytes"
	"strings"
	"time"
)

// Kind is what a directory entry is.
type Kind uint8

// What a directory entry is.
const (
	// RegularFile is a regular file.
	RegularFile Kind = iota
	// Directory is a directory.
	Directory
	// Link is a symbolic link.
	Link
	// Special is a device node, socket, pipe or other.
	Special
)

// Entry is one entry of a directory.
type Entry struct {
	// Name of the file.
	Name string
	// Kind of file.
	Kind Kind
}

// FileStat are facts about one file.
type FileStat struct {
	// Kind of file.
	Kind Kind
	// Size in bytes as stat(2) says; 0 or 4096 for most kernel files.
	Size uint64
	// Mode has the permission bits.
	Mode uint32
	// Modified is the last change of the content.
	Modified time.Time
	// DeviceMajor is the major number of the device that the file is on.
	DeviceMajor uint32
	// DeviceMinor is its minor number.
	DeviceMinor uint32
	// UID of the owner.
	UID uint32
}

// Usage is the space of a mounted filesystem, from statvfs(3).
type Usage struct {
	// TotalBytes is all of it.
	TotalBytes uint64
	// FreeBytes includes root's reserve.
	FreeBytes uint64
	// AvailableBytes are for ordinary users.
	AvailableBytes uint64
	// TotalInodes is all of them.
	TotalInodes uint64
	// FreeInodes is how many are free.
	FreeInodes uint64
	// ReadOnly: mounted read-only.
	ReadOnly bool
}

// Space is one filesystem of StatVFSAll.
type Space struct {
	// Path as it was asked.
	Path string
	// Usage, if Err is nil.
	Usage Usage
	// Err says why it is not known.
	Err error
}

// File is one file of ReadGlob.
type File struct {
	// Path of the file.
	Path string
	// Content, if Err is nil.
	Content []byte
	// Err says why there is no content.
	Err error
}

// Text is the content without white space at its ends; bytes that are not UTF-8 become U+FFFD.
func (f File) Text() string { return Text(f.Content) }

// Count is one directory of CountEntries.
type Count struct {
	// Path of the directory.
	Path string
	// Entries in it, if Err is nil.
	Entries uint32
	// Err says why the number is not known.
	Err error
}

// Text turns the content of a kernel file into text: without white space at its ends, and with U+FFFD for bytes that
// are not UTF-8.
func Text(content []byte) string {
	return strings.ToValidUTF8(string(bytes.TrimSpace(content)), "\uFFFD")
}

// Read gives the whole content of one file. Larger than maxBytes (at most 4 MiB) is gpud.ErrTooLarge.
func Read(path string, maxBytes uint32) ([]byte, error) { return read(path, maxBytes) }

// ReadString gives the content of one file as Text does.
func ReadString(path string, maxBytes uint32) (string, error) {
	content, err := read(path, maxBytes)
	if err != nil {
		return "", err
	}
	return Text(content), nil
}

// ReadGlob gives all files that match a pattern ("*", "?", "[a-z]" within a segment), sorted by path, in one call.
// Files that vanish in the meantime are left out. More than maxFiles (at most 65,536) is gpud.ErrTooLarge.
func ReadGlob(pattern string, maxBytesEach, maxFiles uint32) ([]File, error) {
	return readGlob(pattern, maxBytesEach, maxFiles)
}

// ListDirectory gives the entries of a directory, sorted by name; more than maxEntries (at most 65,536) is
// gpud.ErrTooLarge.
func ListDirectory(path string, maxEntries uint32) ([]Entry, error) {
	return listDirectory(path, maxEntries)
}

// CountEntries gives the number of entries of every directory that matches a pattern, sorted by path.
func CountEntries(pattern string, maxDirectories uint32) ([]Count, error) {
	return countEntries(pattern, maxDirectories)
}

// ReadLink gives the target of a symbolic link, as written.
func ReadLink(path string) (string, error) { return readLink(path) }

// Stat gives facts about a file; links are followed.
func Stat(path string) (FileStat, error) { return stat(path) }

// StatVFS gives the space of the filesystem that holds a path.
func StatVFS(path string) (Usage, error) { return statVFS(path) }

// StatVFSAll gives the space of many filesystems (at most 1,024 paths), in one call and in the order of the paths. One
// that does not answer holds up the others for a moment only; those that were not asked, since three others did not
// answer, are gpud.ErrOverBudget.
func StatVFSAll(paths []string) ([]Space, error) { return statVFSAll(paths) }
