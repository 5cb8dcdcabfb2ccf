"""A host for tests: capabilities that answer from plain values.

    host = FakeHost(files={"/proc/uptime": "12.5 3.0\\n"}, config={"warn": 70})
    report = host.check(Uptime)
    assert report.states[0].reason == "up for 12.5 s"

What is not given is not there: a file is `NotFound`, a program is `NotFound`, a port is `NotFound`. An `AccessError` in
the place of a value is raised. `host.state`, `host.logs` and `host.calls` show what a check left behind.
"""

from __future__ import annotations

import fnmatch
import json
import re
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from gpud_sdk import _host, bounds
from gpud_sdk.checker import Checker
from gpud_sdk.errors import AccessError, Denied, InvalidArgument, NotFound, NotSupported, TooLarge
from gpud_sdk.exec import Output
from gpud_sdk.history import Reboot, StoredEvent
from gpud_sdk.kmsg import LookBack, Message
from gpud_sdk.net import GrpcResponse, Response
from gpud_sdk.sysfs import Entry, EntryCount, FileContent, FileKind, FileStat, FsUsage
from gpud_sdk.types import CheckContext, Event, Report, Trigger

#: The time of a check unless the test says otherwise: 2026-01-01T00:00:00Z.
NOW = 1_767_225_600_000


def output(stdout: str = "", exit_code: int = 0, stderr: str = "") -> Output:
    """What a program printed."""
    return Output(exit_code, None, stdout.encode(), stderr.encode(), False, 1)


@dataclass
class FakeGpu:
    """A GPU: its readings by the name of the method, as values, errors, or functions of the method's arguments."""

    readings: dict[str, Any] = field(default_factory=dict)

    def answer(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """The reading, or `NotSupported`."""
        if name not in self.readings:
            raise NotSupported(name)
        value = self.readings[name]
        return given(value(*arguments) if callable(value) else value)


@dataclass
class FakeHost:
    """The machine as a check sees it."""

    #: Path to content. Directories are there where files are.
    files: dict[str, Any] = field(default_factory=dict)
    #: Path to target, for `read_link`.
    links: dict[str, str] = field(default_factory=dict)
    #: Path to facts, for `stat`; files that are not listed are small regular files of root.
    stats: dict[str, FileStat | AccessError] = field(default_factory=dict)
    #: Path to space, for `statvfs`.
    filesystems: dict[str, FsUsage | AccessError] = field(default_factory=dict)
    #: A dictionary, or the text of the document.
    config: Any = field(default_factory=dict)
    state: dict[str, bytes] = field(default_factory=dict)
    #: Program to output, error, or function of the list of arguments; the script for `run_bash` under `bash`.
    programs: dict[str, Any] = field(default_factory=dict)
    #: (port or socket, path) to answer, error, or function of the headers.
    http: dict[tuple[int | str, str], Any] = field(default_factory=dict)
    #: (host, port) to microseconds or error.
    tcp: dict[tuple[str, int], int | AccessError] = field(default_factory=dict)
    #: (socket, method) to answer, error, or function of the message.
    grpc: dict[tuple[str, str], Any] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    #: Oldest first.
    events: list[StoredEvent] = field(default_factory=list)
    reboots: list[int] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    #: False as in `gpud scan`.
    has_store: bool = True
    #: None where there is no NVML.
    gpus: list[FakeGpu] | None = None
    #: Further functions of the library: `driver_version`, `cuda_version`, `product_name`, `gpm_metrics_of_all`.
    nvml: dict[str, Any] = field(default_factory=dict)

    #: Interfaces that the operator did not grant.
    denied: frozenset[str] | set[str] = frozenset()

    #: What was logged: level and message.
    logs: list[tuple[str, str]] = field(default_factory=list)
    #: Which calls came: interface and function.
    calls: list[tuple[str, str]] = field(default_factory=list)
    _before: list[Any] = field(default_factory=list, repr=False)

    # --- running a plugin ---

    def context(self, plugin: type[Checker] | str, now: int = NOW, **more: Any) -> CheckContext:
        """A context for the first component of a plugin, or for a component by name."""
        name = plugin if isinstance(plugin, str) else plugin.descriptor.components[0].name
        return CheckContext(name, now, **{"trigger": Trigger.MANUAL, "boot_id": "boot-1", **more})

    def check(self, plugin: type[Checker], now: int = NOW, **more: Any) -> Report:
        """One check, with a report within the host's bounds (`AssertionError` otherwise)."""
        return self._run(plugin, "check", self.context(plugin, now, **more))

    def scan(self, plugin: type[Checker], now: int = NOW, **more: Any) -> Report:
        """One scan."""
        return self._run(plugin, "scan", self.context(plugin, now, **more))

    def on_messages(self, plugin: Any, messages: list[Message], now: int = NOW, **more: Any) -> list[Event]:
        """Delivers those messages that match the plugin's patterns (as Python's `re` understands them)."""
        context = self.context(plugin, now, **more)
        with self:
            patterns = [re.compile(pattern) for pattern in plugin().patterns(context.component)]
            matching = [one for one in messages if any(pattern.search(one.text) for pattern in patterns)]
            events = plugin().on_messages(context, matching) if matching else []
        problems = bounds.of_events(events, now)
        assert not problems, f"the host would refuse this: {'; '.join(problems)}"
        return events

    def _run(self, plugin: Any, export: str, context: CheckContext) -> Report:
        kept = dict(self.state)
        try:
            with self:
                report = getattr(plugin(), export)(context)
        except BaseException:
            self.state = kept  # what a failed call wrote is not kept
            raise
        assert isinstance(report, Report), f"a check gives a Report, not {type(report).__name__}"
        problems = bounds.of_report(report, context.now) + bounds.of_descriptor(plugin.descriptor)
        assert not problems, f"the host would refuse this: {'; '.join(problems)}"
        return report

    def __enter__(self) -> FakeHost:
        self._before.append(_host.backend)
        _host.backend = self
        return self

    def __exit__(self, *_: object) -> None:
        _host.backend = self._before.pop()

    # --- answering ---

    def call(self, interface: str, function: str, arguments: tuple[Any, ...], types: dict[str, Any]) -> Any:
        """Implements `_host.Backend`."""
        self.calls.append((interface, function))
        if interface in self.denied:
            raise Denied(f"{interface}.{function}")
        if interface == "nvml":
            return self._nvml(function, types)
        return getattr(self, f"_{interface}_{function}")(*arguments)

    def method(self, resource: Any, name: str, arguments: tuple[Any, ...], types: dict[str, Any]) -> Any:
        """Implements `_host.Backend`."""
        self.calls.append(("nvml", name))
        return resource.answer(name, arguments)

    def _nvml(self, function: str, types: dict[str, Any]) -> Any:
        if function == "library_status":
            return types["Library_NotFound"]("libnvidia-ml.so.1") if self.gpus is None else types["Library_Loaded"]()
        if self.gpus is None:
            raise NotFound("libnvidia-ml.so.1")
        if function == "devices":
            return [types["Device"](gpu) for gpu in self.gpus]
        if function not in self.nvml:
            raise NotSupported(function)
        return given(self.nvml[function])

    def _log_write(self, level: Enum, message: str) -> None:
        self.logs.append((level.name.lower(), message))

    def _config_document(self) -> str:
        return self.config if isinstance(self.config, str) else json.dumps(self.config)

    def _sysfs_read(self, path: str, max_bytes: int) -> bytes:
        absolute(path)
        if path not in self.files:
            raise NotFound(path)
        return bounded(path, self.files[path], max_bytes)

    def _sysfs_read_glob(self, pattern: str, max_bytes_each: int, max_files: int) -> list[FileContent]:
        absolute(pattern)
        paths = sorted(path for path in self.files if matches(path, pattern))
        if len(paths) > max_files:
            raise TooLarge(pattern, len(paths), max_files)
        answers = []
        for path in paths:
            try:
                answers.append(FileContent(path, bounded(path, self.files[path], max_bytes_each)))
            except NotFound:
                continue  # it vanished
            except AccessError as error:
                answers.append(FileContent(path, error))
        return answers

    def _sysfs_list_directory(self, path: str, max_entries: int) -> list[Entry]:
        absolute(path)
        found: dict[str, FileKind] = {}
        for other in [*self.files, *self.links]:
            if other.startswith(path.rstrip("/") + "/"):
                name, *deeper = other[len(path.rstrip("/")) + 1 :].split("/")
                kind = FileKind.DIRECTORY if deeper else FileKind.LINK if other in self.links else FileKind.FILE
                found[name] = kind
        if not found:
            raise NotFound(path)
        if len(found) > max_entries:
            raise TooLarge(path, len(found), max_entries)
        return [Entry(name, found[name]) for name in sorted(found)]

    def _sysfs_count_entries(self, pattern: str, max_directories: int) -> list[EntryCount]:
        folders: dict[str, set[str]] = {}
        for path in [*self.files, *self.links]:
            parts = path.split("/")
            for depth in range(1, len(parts)):
                folders.setdefault("/".join(parts[:depth]) or "/", set()).add(parts[depth])
        counts = [EntryCount(path, len(names)) for path, names in sorted(folders.items()) if matches(path, pattern)]
        if len(counts) > max_directories:
            raise TooLarge(pattern, len(counts), max_directories)
        return counts

    def _sysfs_read_link(self, path: str) -> str:
        if path not in self.links:
            raise NotFound(path)
        return self.links[path]

    def _sysfs_stat(self, path: str) -> FileStat:
        if path in self.stats:
            return given(self.stats[path])
        if path not in self.files:
            raise NotFound(path)
        return FileStat(FileKind.FILE, 4096, 0o444, NOW, 0, 0, 0)

    def _sysfs_statvfs(self, path: str) -> FsUsage:
        if path not in self.filesystems:
            raise NotFound(path)
        return given(self.filesystems[path])

    def _sysfs_statvfs_all(self, paths: list[str]) -> list[FsUsage | AccessError]:
        if len(paths) > 1_024:
            raise TooLarge("paths", len(paths), 1_024)
        return [self.filesystems.get(path, NotFound(path)) for path in paths]

    def _state_get(self, key: str) -> bytes | None:
        return self.state.get(key)

    def _state_set(self, key: str, value: bytes) -> None:
        if len(value) > 65_536:
            raise TooLarge(key, len(value), 65_536)
        if key not in self.state and len(self.state) >= 256:
            raise TooLarge("keys", 257, 256)
        self.state[key] = value

    def _state_delete(self, key: str) -> None:
        self.state.pop(key, None)

    def _state_keys(self, prefix: str) -> list[str]:
        return sorted(key for key in self.state if key.startswith(prefix))

    def _history_own_events(self, since: int, limit: int) -> list[StoredEvent]:
        later = [one for one in self.events if one.event.time // 1000 > since // 1000]
        return sorted(later, key=lambda one: -one.event.time)[:limit] if self.has_store else []

    def _history_reboots(self, since: int) -> list[Reboot]:
        later = sorted((time for time in self.reboots if time // 1000 > since // 1000), reverse=True)
        return [Reboot(time) for time in later] if self.has_store else []

    def _history_set_healthy_marks(self, since: int) -> list[int]:
        return sorted((time for time in self.marks if time > since), reverse=True) if self.has_store else []

    def _history_available(self) -> bool:
        return self.has_store

    def _kmsg_read_back(self, patterns: list[str], max_messages: int) -> LookBack:
        compiled = [re.compile(pattern) for pattern in patterns]
        matching = [one for one in self.messages if any(pattern.search(one.text) for pattern in compiled)]
        return LookBack(matching[-max_messages:] if max_messages else [], len(self.messages), 0)

    def _exec_run_program(self, program: str, arguments: list[str], options: Any) -> Output:
        return self._program(program, arguments)

    def _exec_run_bash(self, script: str, options: Any) -> Output:
        return self._program("bash", [script])

    def _program(self, program: str, arguments: list[str]) -> Output:
        if program not in self.programs:
            raise NotFound(program)
        answer = self.programs[program]
        return given(answer(arguments) if callable(answer) else answer)

    def _net_http_get(self, request: Any) -> Response:
        key = (request.endpoint.value, request.path)
        if key not in self.http:
            raise NotFound(f"GET {request.path} of {request.endpoint.value}")
        answer = self.http[key]
        response: Response = given(answer(dict(request.headers)) if callable(answer) else answer)
        if len(response.body) > request.max_body_bytes:
            raise TooLarge(f"GET {request.path}", len(response.body), request.max_body_bytes)
        return response

    def _net_grpc_unary(self, request: Any) -> GrpcResponse:
        key = (request.socket, request.method)
        if key not in self.grpc:
            raise NotFound(f"{request.method} of {request.socket}")
        answer = self.grpc[key]
        response: GrpcResponse = given(answer(request.message) if callable(answer) else answer)
        if len(response.message) > request.max_message_bytes:
            raise TooLarge(request.method, len(response.message), request.max_message_bytes)
        return response

    def _net_tcp_connect(self, host: str, port: int, timeout_ms: int) -> int:
        if (host, port) not in self.tcp:
            raise NotFound(f"{host}:{port}")
        return given(self.tcp[host, port])


def given(value: Any) -> Any:
    """The value, or the error in its place."""
    if isinstance(value, AccessError):
        raise value
    return value


def bounded(path: str, content: Any, limit: int) -> bytes:
    """The content of a file within its limit."""
    content = given(content)
    data = content.encode() if isinstance(content, str) else bytes(content)
    if len(data) > limit:
        raise TooLarge(path, len(data), limit)
    return data


def absolute(path: str) -> None:
    """Refuses what the host refuses."""
    if not path.startswith("/") or any(part in (".", "..") for part in path.split("/")):
        raise InvalidArgument(f"{path}: not an absolute path without . and ..")


def matches(path: str, pattern: str) -> bool:
    """`*`, `?` and `[a-z]` within a segment."""
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))


__all__ = ["NOW", "FakeGpu", "FakeHost", "output"]
