"""The verdict, from plain values. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import x509
from gpud_sdk import AccessError, CheckContext, CheckFailed, Subject
from gpud_sdk.findings import MAX_KEY, Finding, clip, degraded, unhealthy
from gpud_sdk.sysfs import FileContent

DAY = 86_400_000
METRIC = "certificate_expires_in_seconds"
# Public certificates of a Kubernetes node; a kubelet's own file holds its key as well and is better not granted.
USUAL = ("/etc/kubernetes/pki/*.crt", "/etc/kubernetes/pki/etcd/*.crt")
MAX_PATTERNS = 16
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "files": {
            "type": "array",
            "description": "PEM files, `*` within a path segment; those of a Kubernetes node by default",
            "maxItems": MAX_PATTERNS,
            "items": {"type": "string", "pattern": "^/"},
        },
        "warn_days": {"type": "number", "minimum": 0, "description": "Degraded from here on; 30 by default"},
        "critical_days": {"type": "number", "minimum": 0, "description": "Unhealthy from here on; 7 by default"},
    },
}


@dataclass(frozen=True)
class Config:
    """What the operator configured."""

    #: Empty where the usual ones are looked at.
    files: tuple[str, ...] = ()
    warn_days: float = 30
    critical_days: float = 7

    @classmethod
    def parse(cls, document: dict[str, Any]) -> Config:
        """Of the document."""
        files = document.get("files", [])
        if not isinstance(files, list) or len(files) > MAX_PATTERNS or not all(isinstance(one, str) for one in files):
            raise CheckFailed(f"config: files is not a list of at most {MAX_PATTERNS} paths")
        warn, critical = document.get("warn_days", 30), document.get("critical_days", 7)
        if not all(isinstance(days, (int, float)) and not isinstance(days, bool) for days in (warn, critical)):
            raise CheckFailed("config: warn_days and critical_days are numbers")
        if not critical < warn:
            raise CheckFailed("config: critical_days has to be less than warn_days")
        return cls(tuple(files), warn, critical)

    @property
    def patterns(self) -> tuple[str, ...]:
        """What to read."""
        return self.files or USUAL


@dataclass(frozen=True)
class Reading:
    """One certificate and where it was."""

    path: str
    certificate: x509.Certificate


def read(files: list[FileContent]) -> tuple[list[Reading], list[Finding]]:
    """The certificates, and the files that are not what they should be."""
    readings: list[Reading] = []
    findings: list[Finding] = []
    for file in files:
        if isinstance(file.content, AccessError):
            findings.append(degraded(file.path, "certificate_unreadable", str(file.content), file=file.path))
            continue
        try:
            readings += [Reading(file.path, one) for one in x509.certificates(file.content)]
        except x509.Malformed as error:
            text = f"{file.path}: {error}"
            findings.append(degraded(file.path, "certificate_malformed", text, file=file.path))
    return readings, findings


def judge(context: CheckContext, config: Config, readings: list[Reading]) -> list[Finding]:
    """What is wrong with the certificates, the most urgent first."""
    findings = []
    for reading in sorted(readings, key=lambda one: one.certificate.not_after):
        one, left = reading.certificate, (reading.certificate.not_after - context.now) / DAY
        name = f"{reading.path} ({one.subject})" if one.subject else reading.path
        about = {
            "subject": Subject.other("certificate", clip(reading.path, MAX_KEY)),
            "file": reading.path,
            "advice": "Renew it before it stops what uses it.",
        }
        # The serial number of a renewed one is another; what matters to an operator is the file.
        key = f"{reading.path} {one.subject}"
        if one.not_before > context.now:
            text = f"{name}: not valid for another {(one.not_before - context.now) / DAY:.1f} days"
            findings.append(unhealthy(key, "certificate_not_yet_valid", text, **about))
        elif left <= 0:
            findings.append(unhealthy(key, "certificate_expired", f"{name}: expired {-left:.1f} days ago", **about))
        elif left <= config.critical_days:
            findings.append(unhealthy(key, "certificate_expires", f"{name}: expires in {left:.1f} days", **about))
        elif left <= config.warn_days:
            findings.append(degraded(key, "certificate_expires_soon", f"{name}: expires in {left:.1f} days", **about))
    return findings


def healthy(readings: list[Reading], now: int) -> str:
    """The reason when nothing is wrong."""
    first = min(readings, key=lambda one: one.certificate.not_after, default=None)
    if first is None:
        return "no certificate"
    left = (first.certificate.not_after - now) / DAY
    return f"{len(readings)} certificates, the first to expire is {first.path} in {left:.0f} days"
