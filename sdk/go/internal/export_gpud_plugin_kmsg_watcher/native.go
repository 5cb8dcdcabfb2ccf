//go:build !wasip1

// Package export_gpud_plugin_kmsg_watcher has no content in native builds.
package export_gpud_plugin_kmsg_watcher
