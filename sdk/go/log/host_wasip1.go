package log

import wit "gpud.internal/gpud/internal/wit/gpud_plugin_log"

func write(level Level, message string) { wit.Write(min(uint8(level), wit.Level_Error), message) }
