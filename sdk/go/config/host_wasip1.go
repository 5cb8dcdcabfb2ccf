package config

import wit "gpud.internal/gpud/internal/wit/gpud_plugin_config"

func document() string { return wit.Document() }
