#!/usr/bin/env python3
"""Measures what readers of /v1/stream cost a running gpud.

Compares the daemon's processor time over the same span without readers and with them. Readers come over HTTP/2, 16 on
each connection, since one client may have fewer connections than readers; with --http1 each has a connection of its own.
Root and the daemon's user have no share of their own, others do (docs/security.md, Limits).

    tests/load/stream_readers.py --pid "$(pidof gpud)" --port 15132
"""

import argparse
import asyncio
import os
import ssl
import struct
import sys
import time

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
ACK = END_STREAM = 1
END_HEADERS = 4
STREAMS_PER_CONNECTION = 16
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def request(stream, path):
    """A GET request: method and scheme from HPACK's static table, path and authority as literals."""
    path, host = path.encode(), b"localhost"
    block = bytes([0x82, 0x87, 0x04, len(path)]) + path + bytes([0x01, len(host)]) + host
    return frame(HEADERS, END_STREAM | END_HEADERS, stream, block)


class Readers:
    """The readers on one connection."""

    def __init__(self, count):
        self.count = count
        self.begun = set()
        self.ended = 0
        self.pieces = 0

    async def follow(self, port, context):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="localhost")
        if writer.get_extra_info("ssl_object").selected_alpn_protocol() != "h2":
            raise RuntimeError("the server does not speak HTTP/2")
        streams = range(1, 2 * self.count, 2)
        writer.write(GREETING + frame(SETTINGS, 0, 0) + b"".join(request(stream, "/v1/stream") for stream in streams))
        try:
            while True:
                head = await reader.readexactly(9)
                length = int.from_bytes(head[:3], "big")
                kind, flags = head[3], head[4]
                stream = int.from_bytes(head[5:], "big")
                payload = await reader.readexactly(length)
                answer = self.take(kind, flags, stream, payload)
                if answer:
                    writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            self.ended = self.count

    def take(self, kind, flags, stream, payload):
        """Notes what came; returns what is answered."""
        if kind == PING and not flags & ACK:
            return frame(PING, ACK, 0, payload)
        if kind == HEADERS:
            # 200 is number 8 of HPACK's static table. Another answer has an end.
            self.begun.add(stream)
        if kind == RST_STREAM or (kind in (DATA, HEADERS) and flags & END_STREAM):
            self.ended += 1
        if kind == DATA and payload:
            self.pieces += 1
            window = struct.pack(">I", len(payload))
            return frame(WINDOW_UPDATE, 0, 0, window) + frame(WINDOW_UPDATE, 0, stream, window)
        return None


class Http1Reader:
    """One reader, on a connection of its own."""

    count = 1

    def __init__(self):
        self.begun = set()
        self.ended = 0
        self.pieces = 0

    async def follow(self, port, context):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="localhost")
        writer.write(b"GET /v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200 "):
                raise RuntimeError(head.split(b"\r\n")[0].decode())
            self.begun.add(1)
            while True:
                # The length of a chunk, the chunk, and the end of its line.
                length = int(await reader.readuntil(b"\r\n"), 16)
                await reader.readexactly(length + 2)
                if length == 0:
                    break
                self.pieces += 1
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            pass
        self.ended = 1


def processor_time(pid):
    """Seconds of processor time of a process, in user and kernel mode."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid):
    """MiB of memory that the process has for itself."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        line = next(line for line in file if line.startswith("RssAnon:"))
    return int(line.split()[1]) / 1024


async def span(pid, seconds, what):
    """Percent of a core over a span."""
    used, begun = processor_time(pid), time.monotonic()
    await asyncio.sleep(seconds)
    used, passed = processor_time(pid) - used, time.monotonic() - begun
    percent = 100 * used / passed
    print(f"{what:>16}: {used:6.2f} s of processor time in {passed:.0f} s, {percent:5.2f} % of a core, "
          f"{memory(pid):.1f} MiB", flush=True)
    return percent


def readers(count, http1):
    """As many readers, by connection."""
    if http1:
        return [Http1Reader() for _ in range(count)]
    whole, rest = divmod(count, STREAMS_PER_CONNECTION)
    groups = [Readers(STREAMS_PER_CONNECTION) for _ in range(whole)]
    return groups + ([Readers(rest)] if rest else [])


async def run(arguments):
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["http/1.1" if arguments.http1 else "h2"])
    without = await span(arguments.pid, arguments.seconds, "without readers")
    groups = readers(arguments.readers, arguments.http1)
    opening = processor_time(arguments.pid)
    tasks = [asyncio.create_task(group.follow(arguments.port, context)) for group in groups]
    deadline = time.monotonic() + 60
    while sum(len(group.begun) for group in groups) < arguments.readers:
        if time.monotonic() > deadline or any(task.done() for task in tasks):
            sys.exit("not all readers were taken")
        await asyncio.sleep(0.1)
    await asyncio.sleep(arguments.settle)
    print(f"{'opening them':>16}: {processor_time(arguments.pid) - opening:6.2f} s of processor time", flush=True)
    before = sum(group.pieces for group in groups)
    percent = await span(arguments.pid, arguments.seconds, f"{arguments.readers} readers")
    pieces = sum(group.pieces for group in groups) - before
    ended = sum(group.ended for group in groups)
    for task in tasks:
        task.cancel()
    print(f"{pieces} events and comments came, {ended} readers were cut off; readers cost {percent - without:.2f} % of a core")
    if ended:
        sys.exit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pid", type=int, required=True, help="process of the daemon")
    parser.add_argument("--port", type=int, default=15132)
    parser.add_argument("--http1", action="store_true", help="a connection for each reader: at most 512, of one user 96")
    parser.add_argument("--readers", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60, help="length of each span")
    parser.add_argument("--settle", type=float, default=5, help="time after the last reader came")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
