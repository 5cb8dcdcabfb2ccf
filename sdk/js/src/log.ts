/**
 * The plugin's voice in the daemon's log. Needs no grant. In a component, `console` writes there, too.
 *
 * Control characters are escaped; a line is cut at 4 KiB; a call may write 64 lines, further ones are counted and
 * dropped.
 */

import wit from "#host/log";

/** For the plugin's author. */
export function debug(message: string): void {
  wit.write("debug", message);
}

/** For the record. */
export function info(message: string): void {
  wit.write("info", message);
}

/** Worth a look. */
export function warn(message: string): void {
  wit.write("warn", message);
}

/** Something failed. */
export function error(message: string): void {
  wit.write("error", message);
}
