"""Makes the objects of a built component's snapshot immortal.

CPython counts references in the objects themselves: a call that merely looks at one writes to it, and its page has to be
copied for the call's instance. Objects whose count is beyond a limit are immortal: their counts stay as they are, and so
do the pages. CPython has that for objects of its own, and no way to ask for more; so it is written into the snapshot.
Nothing is lost: an instance answers one call and goes.

Before the snapshot is taken, `_heap.finish` lays down a list of all objects' addresses; `build` then sets the counts.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from typing import NamedTuple

# Stands before the list. Then come, 32 bits each, the sum of the addresses, how many there are, and the addresses.
MARK = b"gpud: addresses of objects that are to be immortal:"
# CPython 3.14 on 32 bits (`Include/refcount.h`): objects with this count or a higher one are immortal; those that it makes
# so itself get the other. Elsewhere it is a high count like others.
LEAST, IMMORTAL = 1 << 30, 5 << 28
PREAMBLE = 8
COMPONENT = b"\0asm\x0d\0\1\0"
MODULE = b"\0asm\1\0\0\0"
# Sections of a component that hold a module or a component, and the one of a module that holds what lies in memory.
NESTED, DATA = (1, 4), 11
I32_CONST, END = 0x41, 0x0B


class Malformed(Exception):
    """This is no component, or not one with the list."""


class Segment(NamedTuple):
    """A piece of memory."""

    #: Where it lies in the file.
    start: int
    end: int
    #: Address of its first byte.
    base: int


def apply(component: bytes) -> bytes:
    """The component with immortal objects."""
    image = bytearray(component)
    made = 0
    for segments in memories(component):
        addresses = listed(component, segments)
        for start, end, base in segments:
            # An object begins with its count.
            last = base + end - start - 4
            for address in addresses[bisect_left(addresses, base) : bisect_right(addresses, last)]:
                at = start + address - base
                (count,) = struct.unpack_from("<I", image, at)
                if 0 < count < LEAST:
                    struct.pack_into("<I", image, at, IMMORTAL)
                    made += 1
    if made == 0:
        raise Malformed("its memory has no list of objects")
    return bytes(image)


def listed(component: bytes, segments: list[Segment]) -> list[int]:
    """The addresses, sorted. The mark may lie in more places than before the list."""
    for start, end, _ in segments:
        at = component.find(MARK, start, end)
        while at >= 0:
            head = at + len(MARK)
            if head + 8 <= end:
                total, count = struct.unpack_from("<2I", component, head)
                if 0 < count <= (end - head - 8) // 4:
                    addresses = struct.unpack_from(f"<{count}I", component, head + 8)
                    if sum(addresses) & 0xFFFF_FFFF == total:
                        return sorted(addresses)
            at = component.find(MARK, at + 1, end)
    return []


def memories(component: bytes) -> list[list[Segment]]:
    """What each core module lays into memory."""
    found: list[list[Segment]] = []
    try:
        sections(component, 0, len(component), found)
    except (IndexError, ValueError, RecursionError):
        raise Malformed("it is cut off, or no WebAssembly") from None
    return found


def sections(wasm: bytes, at: int, end: int, found: list[list[Segment]]) -> None:
    """Of a module or component from `at` to `end`."""
    preamble = wasm[at : at + PREAMBLE]
    if preamble not in (COMPONENT, MODULE):
        raise Malformed(f"no WebAssembly begins at byte {at}")
    at += PREAMBLE
    while at < end:
        kind = wasm[at]
        size, at = number(wasm, at + 1)
        if preamble == COMPONENT and kind in NESTED:
            sections(wasm, at, at + size, found)
        elif preamble == MODULE and kind == DATA:
            found.append(data(wasm, at))
        at += size
    if at != end:
        raise Malformed(f"a section goes on after byte {end}")


def data(wasm: bytes, at: int) -> list[Segment]:
    """The segments of a section that have their place."""
    found = []
    count, at = number(wasm, at)
    for _ in range(count):
        flag, at = number(wasm, at)
        if flag == 2:
            _, at = number(wasm, at)
        base = None
        if flag != 1:
            if wasm[at] == I32_CONST:
                # Signed, and yet never beyond 2 GiB.
                base, at = number(wasm, at + 1)
            at = wasm.index(END, at) + 1
        size, at = number(wasm, at)
        if base is not None:
            found.append(Segment(at, at + size, base))
        at += size
    return found


def number(wasm: bytes, at: int) -> tuple[int, int]:
    """In LEB128, and where it ends."""
    value = shift = 0
    while True:
        byte = wasm[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
