//go:build !wasip1

// Package export_gpud_plugin_checker has no content in native builds.
package export_gpud_plugin_checker
