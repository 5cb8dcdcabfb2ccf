"""Local services and plain reachability.

Grant: lists of unix socket paths and loopback ports for `http_get`, of `host:port` endpoints for `tcp_connect`, and
under `grpc`, by unix socket path, of methods for `grpc_unary`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping

from gpud_sdk import _host
from gpud_sdk.types import pairs


@dataclass(frozen=True)
class Endpoint_UnixSocket:
    """A unix socket, by absolute path."""

    value: str


@dataclass(frozen=True)
class Endpoint_Loopback:
    """A port of 127.0.0.1."""

    value: int


@dataclass(frozen=True)
class Request:
    """A GET request, as the contract has it."""

    endpoint: Endpoint_UnixSocket | Endpoint_Loopback
    path: str
    headers: list[tuple[str, str]]
    max_body_bytes: int
    timeout_ms: int


@dataclass(frozen=True)
class Response:
    """An answer."""

    status: int
    #: Names in lower case.
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def text(self) -> str:
        """The body as text; bytes that are not UTF-8 become U+FFFD."""
        return self.body.decode(errors="replace")


@dataclass(frozen=True)
class GrpcRequest:
    """A unary gRPC call, as the contract has it."""

    socket: str
    method: str
    message: bytes
    max_message_bytes: int
    timeout_ms: int


@dataclass(frozen=True)
class GrpcResponse:
    """The answer of a gRPC service."""

    #: Status code of gRPC. 0 is success, 12 a method that the service does not have, 14 unavailable.
    status: int
    #: What the service says about the status; mostly empty on success.
    status_message: str = ""
    #: The response message; empty unless the status is 0.
    message: bytes = b""


def http_get(
    endpoint: int | str,
    path: str = "/",
    headers: Mapping[str, str] | None = None,
    max_body_bytes: int = 65_536,
    timeout_ms: int = 5_000,
) -> Response:
    """Sends an HTTP/1.1 GET request to a port of 127.0.0.1 (a number) or a unix socket (an absolute path).

    `Host` defaults to `localhost`. A body beyond `max_body_bytes` (at most 4 MiB) is `TooLarge`.
    """
    where = Endpoint_Loopback(endpoint) if isinstance(endpoint, int) else Endpoint_UnixSocket(endpoint)
    request = Request(where, path, pairs(headers or {}), max_body_bytes, timeout_ms)
    return _host.call("net", "http_get", (request,), globals())


def tcp_connect(host: str, port: int, timeout_ms: int = 5_000) -> int:
    """Opens and closes a TCP connection; gives the microseconds that it took."""
    return _host.call("net", "tcp_connect", (host, port, timeout_ms), globals())


def grpc_unary(
    socket: str, method: str, message: bytes = b"", max_message_bytes: int = 65_536, timeout_ms: int = 5_000
) -> GrpcResponse:
    """Makes a unary gRPC call of `/package.Service/Method` on a unix socket; messages are encoded protobuf.

    Any status is an answer. `NotFound` is a socket that is not there, `OtherError` nobody who listens.
    """
    request = GrpcRequest(socket, method, message, max_message_bytes, timeout_ms)
    return _host.call("net", "grpc_unary", (request,), globals())
