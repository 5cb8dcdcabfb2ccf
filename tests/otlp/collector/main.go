// A collector that receives OTLP and appends what it got to a file, a line of JSON for each request.
package main

import (
	"context"
	"log"
	"os"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

// settings names the file.
type settings struct {
	Path string `mapstructure:"path"`
}

// part is what logs and metrics have in common: nothing to start or stop.
type part struct {
	component.StartFunc
	component.ShutdownFunc
}

var appending sync.Mutex

// write appends a line.
func write(path string, line []byte) error {
	appending.Lock()
	defer appending.Unlock()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = file.Write(append(line, '\n')); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

func newLogs(_ context.Context, _ exporter.Settings, config component.Config) (exporter.Logs, error) {
	path := config.(*settings).Path
	take, err := consumer.NewLogs(func(_ context.Context, logs plog.Logs) error {
		line, err := (&plog.JSONMarshaler{}).MarshalLogs(logs)
		if err != nil {
			return err
		}
		return write(path, line)
	})
	return struct {
		part
		consumer.Logs
	}{part{}, take}, err
}

func newMetrics(_ context.Context, _ exporter.Settings, config component.Config) (exporter.Metrics, error) {
	path := config.(*settings).Path
	take, err := consumer.NewMetrics(func(_ context.Context, metrics pmetric.Metrics) error {
		line, err := (&pmetric.JSONMarshaler{}).MarshalMetrics(metrics)
		if err != nil {
			return err
		}
		return write(path, line)
	})
	return struct {
		part
		consumer.Metrics
	}{part{}, take}, err
}

func factories() (otelcol.Factories, error) {
	receivers, err := otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
	if err != nil {
		return otelcol.Factories{}, err
	}
	lines := exporter.NewFactory(
		component.MustNewType("lines"),
		func() component.Config { return &settings{} },
		exporter.WithLogs(newLogs, component.StabilityLevelDevelopment),
		exporter.WithMetrics(newMetrics, component.StabilityLevelDevelopment),
	)
	exporters, err := otelcol.MakeFactoryMap[exporter.Factory](lines)
	return otelcol.Factories{
		Receivers: receivers,
		Exporters: exporters,
		Telemetry: otelconftelemetry.NewFactory(),
	}, err
}

func main() {
	settings := otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "collector", Description: "receives OTLP", Version: "test"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{
			ResolverSettings: confmap.ResolverSettings{
				ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()},
				DefaultScheme:     "file",
			},
		},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		log.Fatal(err)
	}
}
