"""What a certificate says of itself: subject and validity, out of PEM and DER (RFC 7468, X.690, RFC 5280). Pure.

No signature is verified: that is up to the program that trusts the certificate.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone

# Certificates of one file that are looked at.
MAX_CERTIFICATES = 64
# Longest subject that is shown, characters.
MAX_SUBJECT = 100
BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]*)-----END CERTIFICATE-----")
SEQUENCE, UTC_TIME, GENERALIZED_TIME, VERSION = 0x30, 0x17, 0x18, 0xA0
COMMON_NAME = bytes.fromhex("0603550403")
SHORT_TIME, LONG_TIME = re.compile("[0-9]{12}Z"), re.compile("[0-9]{14}Z")


@dataclass(frozen=True)
class Certificate:
    """One certificate."""

    #: Common name of the subject; empty if it has none.
    subject: str
    #: Unix milliseconds.
    not_before: int
    #: Unix milliseconds.
    not_after: int


class Malformed(ValueError):
    """It is no certificate; the text says where that was seen."""


def certificates(pem: bytes) -> list[Certificate]:
    """All certificates of a PEM file; keys and other blocks are passed over. `Malformed` if there is none."""
    found = []
    for block in BLOCK.finditer(pem):
        try:
            der = base64.b64decode(b"".join(block[1].split()), validate=True)
        except binascii.Error as error:
            raise Malformed(f"base64: {error}") from None
        found.append(parse(der))
        if len(found) == MAX_CERTIFICATES:
            break
    if not found:
        raise Malformed("no PEM block with a certificate")
    return found


def parse(der: bytes) -> Certificate:
    """One certificate in DER."""
    outer = next(elements(expect(der, SEQUENCE, "certificate")), None)
    if outer is None or outer[0] != SEQUENCE:
        raise Malformed("certificate: no content to be signed")
    fields = list(elements(outer[1]))
    if fields and fields[0][0] == VERSION:
        fields = fields[1:]
    # Serial number, algorithm, issuer, validity, subject.
    if len(fields) < 5:
        raise Malformed("certificate: fields are missing")
    times = list(elements(fields[3][1]))
    if len(times) != 2:
        raise Malformed("validity: not two times")
    return Certificate(common_name(fields[4][1]), moment(*times[0]), moment(*times[1]))


def elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The elements of a constructed value: tag and content."""
    at = 0
    while at < len(data):
        if at + 2 > len(data):
            raise Malformed("an element is cut off")
        tag, length, at = data[at], data[at + 1], at + 2
        if tag & 0x1F == 0x1F:
            raise Malformed("a tag of several bytes")
        if length & 0x80:
            count = length & 0x7F
            if not 1 <= count <= 4 or at + count > len(data):
                raise Malformed("a length that cannot be")
            length, at = int.from_bytes(data[at : at + count], "big"), at + count
        if at + length > len(data):
            raise Malformed("an element is cut off")
        yield tag, data[at : at + length]
        at += length


def expect(data: bytes, tag: int, what: str) -> bytes:
    """The content of the first element, which has this tag."""
    first = next(elements(data), None)
    if first is None or first[0] != tag:
        raise Malformed(f"{what}: not there")
    return first[1]


def common_name(name: bytes) -> str:
    """The last common name of a distinguished name."""
    found = ""
    for _, names in elements(name):
        for _, attribute in elements(names):
            if attribute.startswith(COMMON_NAME):
                value = next(elements(attribute[len(COMMON_NAME) :]), (0, b""))[1]
                found = value.decode(errors="replace")
    return "".join(letter if letter.isprintable() else "?" for letter in found)[:MAX_SUBJECT]


def moment(tag: int, text: bytes) -> int:
    """Unix milliseconds of a UTCTime or GeneralizedTime, in the one form that RFC 5280 allows of each."""
    digits = text.decode("ascii", "replace")
    if tag == UTC_TIME and SHORT_TIME.fullmatch(digits):
        # 50 and above is the last century.
        digits = ("19" if digits[:2] >= "50" else "20") + digits
    elif tag != GENERALIZED_TIME or not LONG_TIME.fullmatch(digits):
        raise Malformed(f"not a time: {digits[:20]!r}")
    parts = [int(digits[:4]), *(int(digits[at : at + 2]) for at in range(4, 14, 2))]
    try:
        return int(datetime(*parts, tzinfo=timezone.utc).timestamp()) * 1000  # type: ignore[misc, arg-type]
    except ValueError as error:
        raise Malformed(f"not a time: {error}") from None
