/**
 * Small files of sysfs and procfs, and the space of filesystems.
 *
 * Grant `sysfs`: a list of path patterns, `*` within one path segment, `**` across segments. Grant `statvfs`: the same,
 * for `stat` and `statvfs` alone. Paths are absolute, without `.` or `..`. A read that the kernel does not answer
 * within 5 s is `TimedOut`.
 */

import wit from "#host/sysfs";
import { AccessError } from "./errors.ts";
import { ask, settleAll, settled } from "./host/ask.ts";
import { decodeText } from "./text.ts";

/** What a directory entry is; `special` is a device node, socket, pipe or other. */
export type FileKind = "file" | "directory" | "link" | "special";

/** One entry of a directory. */
export interface Entry {
  readonly name: string;
  readonly kind: FileKind;
}

/** Facts about one file; links are followed. */
export interface FileStat {
  readonly kind: FileKind;
  /** Bytes as stat(2) says; 0 or 4096 for most kernel files. */
  readonly size: number;
  /** Permission bits. */
  readonly mode: number;
  /** Last change of the content, Unix milliseconds. */
  readonly modified: number;
  readonly deviceMajor: number;
  readonly deviceMinor: number;
  readonly uid: number;
}

/** Space of a mounted filesystem, from statvfs(3). */
export interface FsUsage {
  readonly totalBytes: number;
  /** Root's reserve included (`f_bfree`). */
  readonly freeBytes: number;
  /** For ordinary users (`f_bavail`). */
  readonly availableBytes: number;
  readonly totalInodes: number;
  readonly freeInodes: number;
  readonly readOnly: boolean;
}

/** One file of a `readGlob` answer. */
export interface FileContent {
  readonly path: string;
  /** The content, or why there is none. */
  readonly content: Uint8Array | AccessError;
}

/** One directory of a `countEntries` answer. */
export interface EntryCount {
  readonly path: string;
  /** Number of entries, or why it is not known. */
  readonly count: number | AccessError;
}

/** The content as text without white space around it; `undefined` when it could not be read. */
export function textOf(file: FileContent): string | undefined {
  return file.content instanceof AccessError ? undefined : decodeText(file.content).trim();
}

/** Whole content of one file; larger than `maxBytes` (at most 4 MiB) is `TooLarge`. */
export function read(path: string, maxBytes = 65_536): Uint8Array {
  return ask(() => wit.read(path, maxBytes));
}

/** Like `read`, as text; bytes that are not UTF-8 become U+FFFD. */
export function readText(path: string, maxBytes = 65_536): string {
  return decodeText(read(path, maxBytes));
}

/**
 * All files that match a pattern (`*`, `?`, `[a-z]` within a segment), sorted by path, in one call. Files that vanish
 * in the meantime are left out. More than `maxFiles` (at most 65,536) is `TooLarge`.
 */
export function readGlob(pattern: string, maxBytesEach = 4_096, maxFiles = 4_096): FileContent[] {
  const files = ask(() => wit.readGlob(pattern, maxBytesEach, maxFiles));
  return settleAll<FileContent>(files, "content");
}

/** Entries of a directory, sorted by name; more than `maxEntries` (at most 65,536) is `TooLarge`. */
export function listDirectory(path: string, maxEntries = 4_096): Entry[] {
  return ask(() => wit.listDirectory(path, maxEntries));
}

/** Number of entries of every directory that matches a pattern, sorted by path. */
export function countEntries(pattern: string, maxDirectories = 4_096): EntryCount[] {
  const counts = ask(() => wit.countEntries(pattern, maxDirectories));
  return settleAll<EntryCount>(counts, "count");
}

/** Target of a symbolic link, as written. */
export function readLink(path: string): string {
  return ask(() => wit.readLink(path));
}

/** Facts about a file. */
export function stat(path: string): FileStat {
  return ask(() => wit.stat(path));
}

/** Space of the filesystem that holds a path. */
export function statvfs(path: string): FsUsage {
  return ask(() => wit.statvfs(path));
}

/**
 * The same for many paths (at most 1,024) in one call: an answer for each, in the same order. A path that does not
 * answer is `TimedOut` by itself and holds up the others for a moment only. Those that were not asked, since three
 * others did not answer, are `OverBudget`.
 */
export function statvfsAll(paths: string[]): (FsUsage | AccessError)[] {
  return ask(() => wit.statvfsAll(paths)).map(settled);
}
