"""The checker on a machine made of plain values: `python -m unittest discover -s tests`."""

import base64
import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import x509
from certificate_expiry import CertificateExpiry
from gpud_sdk import CheckFailed, Denied, Health
from gpud_sdk.testing import FakeHost
from judge import DAY

# `openssl req -x509 -newkey ec … -subj "/O=Example/CN=node-1.example" -days 365`, on 2026-11-22: a UTCTime.
YEAR = b"""-----BEGIN CERTIFICATE-----
MIIBqzCCAVGgAwIBAgIUN0kfgTx1CMTF0McVOqEeMr1GFjswCgYIKoZIzj0EAwIw
KzEQMA4GA1UECgwHRXhhbXBsZTEXMBUGA1UEAwwObm9kZS0xLmV4YW1wbGUwHhcN
MjYxMTIyMTEzMTQ4WhcNMjcxMTIyMTEzMTQ4WjArMRAwDgYDVQQKDAdFeGFtcGxl
MRcwFQYDVQQDDA5ub2RlLTEuZXhhbXBsZTBZMBMGByqGSM49AgEGCCqGSM49AwEH
A0IABKvKJdJJu1A7IgJkYhwFw3MN9BhUWUgZg8Cbd/Y1f3+6CrE1/YJkiEhEzR0U
rwGcwrqUyUpYfja6gPu5OpeeKCqjUzBRMB0GA1UdDgQWBBTp4Ux8+56R53twKOvj
Szf7NBDpAzAfBgNVHSMEGDAWgBTp4Ux8+56R53twKOvjSzf7NBDpAzAPBgNVHRMB
Af8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIQCEj6VrZhl3XIRuS0Azp1tvX3A0
HsWKChLN7zH2qO6w6wIgB2DYk3vCAhfFsNiyuW3fnkpDOQSiIuonzeo/hIXC4jE=
-----END CERTIFICATE-----
"""
# The same with `-subj "/CN=long-lived" -days 40000`: the end is a GeneralizedTime.
CENTURY = b"""-----BEGIN CERTIFICATE-----
MIIBgTCCASegAwIBAgIUWvMB0MqA4b3hF0RqHqKRDn6VE54wCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKbG9uZy1saXZlZDAgFw0yNjExMjIxMTMxNDhaGA8yMTM2MDUy
OTExMzE0OFowFTETMBEGA1UEAwwKbG9uZy1saXZlZDBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABH96bG87FywlSk/RLs4oCdTSgEBYuSkDAoFee46cSPGN/xMyiCj6
k9KW2zOeWOU0BLUqvCo0hchaUrFfKsHbEoajUzBRMB0GA1UdDgQWBBSl23f8nB+u
YaX6PeWMvkpXy+CLYzAfBgNVHSMEGDAWgBSl23f8nB+uYaX6PeWMvkpXy+CLYzAP
BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIQDmWP3bf2P8xd+E2/sX
meT3DBV0Oj/1buysvhawnIpBvgIgY4biYrKQ7cX/SJaI+JiL7co13znEMMHY+jmM
4NNv56U=
-----END CERTIFICATE-----
"""
KEY = b"-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n"
END = 1_826_883_108_000  # 2027-11-22T11:31:48Z
FILE = "/etc/kubernetes/pki/apiserver.crt"


class Parsing(unittest.TestCase):
    def test_subject_and_validity(self) -> None:
        (year,) = x509.certificates(KEY + YEAR)
        self.assertEqual(year, x509.Certificate("node-1.example", END - 365 * DAY, END))
        both = x509.certificates(YEAR + CENTURY)
        self.assertEqual(both[1].subject, "long-lived")
        self.assertEqual(both[1].not_after - both[1].not_before, 40_000 * DAY)

    def test_what_is_no_certificate(self) -> None:
        for wrong in (b"", KEY, YEAR.replace(b"MIIB", b"MII"), YEAR.replace(b"MIIB", b"AIIB")):
            with self.subTest(wrong=wrong[:60]), self.assertRaises(x509.Malformed):
                x509.certificates(wrong)
        for tag, text in ((0x17, b"2613010000Z"), (0x17, b"261301000000Z"), (0x18, b"20260101000000+0000"), (4, b"x")):
            with self.subTest(text=text), self.assertRaises(x509.Malformed):
                x509.moment(tag, text)
        self.assertEqual(x509.moment(0x17, b"700101000000Z"), 0)
        self.assertEqual(x509.moment(0x17, b"491231235959Z"), 2_524_607_999_000)

    def test_no_prefix_is_a_certificate(self) -> None:
        der = base64.b64decode(b"".join(YEAR.split(b"\n")[1:-2]))
        self.assertEqual(x509.parse(der).subject, "node-1.example")
        for length in range(len(der)):
            with self.assertRaises(x509.Malformed):
                x509.parse(der[:length])

    def test_any_bytes_are_survived(self) -> None:
        dice = random.Random(1)
        der = base64.b64decode(b"".join(YEAR.split(b"\n")[1:-2]))
        for _ in range(3_000):
            spoiled = bytearray(der)
            for _ in range(dice.randrange(1, 4)):
                spoiled[dice.randrange(len(spoiled))] = dice.randrange(256)
            for data in (bytes(spoiled), dice.randbytes(dice.randrange(60))):
                try:
                    found = x509.parse(data)
                except x509.Malformed:
                    continue
                self.assertLessEqual(len(found.subject), x509.MAX_SUBJECT)


class Verdict(unittest.TestCase):
    def test_by_the_days_that_are_left(self) -> None:
        cases = [
            (100, Health.HEALTHY, f"1 certificates, the first to expire is {FILE} in 100 days", None),
            (30, Health.DEGRADED, f"{FILE} (node-1.example): expires in 30.0 days", "certificate_expires_soon"),
            (7, Health.UNHEALTHY, f"{FILE} (node-1.example): expires in 7.0 days", "certificate_expires"),
            (-2, Health.UNHEALTHY, f"{FILE} (node-1.example): expired 2.0 days ago", "certificate_expired"),
            (366, Health.UNHEALTHY, f"{FILE} (node-1.example): not valid for another 1.0 days",
             "certificate_not_yet_valid"),
        ]  # fmt: skip
        for days, health, reason, event in cases:
            with self.subTest(days=days):
                report = FakeHost(files={FILE: YEAR}).check(CertificateExpiry, now=END - days * DAY)
                self.assertEqual((report.states[0].health, report.states[0].reason), (health, reason))
                self.assertEqual([one.name for one in report.events], [event] if event else [])
                self.assertEqual(report.metrics[0].value, days * DAY / 1000)

    def test_events_are_transitions(self) -> None:
        host = FakeHost(files={FILE: YEAR})
        steps = [(40, []), (20, ["certificate_expires_soon"]), (19, []), (3, ["certificate_expires"])]
        for days, events in steps:
            self.assertEqual([one.name for one in host.check(CertificateExpiry, now=END - days * DAY).events], events)
        host.files[FILE] = CENTURY
        renewed = host.check(CertificateExpiry, now=END - 2 * DAY)
        self.assertEqual([one.name for one in renewed.events], ["certificate_expires_cleared"])
        self.assertEqual(host.state, {})

    def test_trouble(self) -> None:
        self.assertFalse(FakeHost().check(CertificateExpiry).supported)
        missing = FakeHost(config={"files": ["/etc/x.pem"]}).check(CertificateExpiry)
        self.assertEqual(missing.states[0].reason, "/etc/x.pem: no such file")
        for content, reason in ((KEY, "no PEM block with a certificate"), (Denied(FILE), "permission denied")):
            state = FakeHost(files={FILE: content}).check(CertificateExpiry).states[0]
            self.assertEqual((state.health, state.reason), (Health.DEGRADED, f"{FILE}: {reason}"))
        for wrong in ({"files": "/x"}, {"warn_days": "1"}, {"critical_days": 30}, {"files": ["/x"] * 17}):
            with self.subTest(wrong=wrong), self.assertRaises(CheckFailed):
                FakeHost(config=wrong).check(CertificateExpiry)


if __name__ == "__main__":
    unittest.main()
