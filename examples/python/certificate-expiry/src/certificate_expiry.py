"""certificate-expiry: certificates of this node that expire soon. This file asks; `judge` decides."""

from __future__ import annotations

import judge
from gpud_sdk import CheckContext, Checker, Component, Descriptor, MetricDescription, Report, config, memory, sysfs
from gpud_sdk.findings import degraded

# Longest file, bytes; a bundle of all public authorities is 200 KiB.
MAX_FILE = 512 * 1024
MAX_FILES = 256
# Samples of a report; the host takes 4,096.
MAX_SAMPLES = 1_024


class CertificateExpiry(Checker):
    """The checker."""

    descriptor = Descriptor.of(
        Component(
            "certificate-expiry",
            "Certificates of this node that expire soon",
            interval_seconds=3_600,
            metrics=[
                MetricDescription(judge.METRIC, "Time until a certificate expires, by path and subject (seconds)")
            ],
            config_schema=judge.SCHEMA,
        )
    )

    def check(self, context: CheckContext) -> Report:
        """One check."""
        settings = judge.Config.parse(config.document())
        readings: list[judge.Reading] = []
        findings = []
        for pattern in settings.patterns:
            files = sysfs.read_glob(pattern, MAX_FILE, MAX_FILES)
            if not files and settings.files:
                findings.append(degraded(pattern, "certificate_missing", f"{pattern}: no such file"))
            found, problems = judge.read(files)
            readings += found
            findings += problems
        if not readings and not findings:
            return Report.unsupported(context, f"no certificate at {' or '.join(settings.patterns)}")
        findings = judge.judge(context, settings, readings) + findings
        report = memory.judge(context, judge.healthy(readings, context.now), findings)
        for one in readings[:MAX_SAMPLES]:
            labels = {"path": one.path, "subject": one.certificate.subject}
            report.gauge(judge.METRIC, (one.certificate.not_after - context.now) / 1000, labels)
        return report
