"""The bridge between the SDK's types and the contract's, inside a built component. `entry.py.in` uses it.

`wit_world` exists only there: componentize-py makes it from the plugin's world.
"""

from __future__ import annotations

import importlib
import operator
import sys
import time
from dataclasses import fields, is_dataclass
from enum import Enum
from types import FunctionType
from typing import Any, Callable

import wit_world.exports.checker as exported  # type: ignore[import-not-found]
import wit_world.imports.log as wit_log  # type: ignore[import-not-found]
import wit_world.imports.types as wit  # type: ignore[import-not-found]
from componentize_py_types import Err, Ok  # type: ignore[import-not-found]

from gpud_sdk import _host, errors, types
from gpud_sdk.checker import Checker, Component
from gpud_sdk.findings import clip

# Lines of a traceback; a call may write 64.
MAX_LINES = 40
# Attributes of a contract's `pairs` type that the SDK shows as a dictionary.
PAIRS = frozenset(("extra_info", "dictionary", "extra", "headers"))
ERRORS = {
    "".join(part.capitalize() for part in error.case.split("-")): error
    for error in (
        errors.Denied,
        errors.NotSupported,
        errors.NotFound,
        errors.TooLarge,
        errors.TimedOut,
        errors.SourceLost,
        errors.NeedsReset,
        errors.InvalidArgument,
        errors.OverBudget,
        errors.OtherError,
    )
}


def case(value: Any) -> str:
    """`NotFound` of an instance of `AccessError_NotFound`."""
    return type(value).__name__.rpartition("_")[2]


def words(name: str) -> str:
    """`not-found` of `NotFound`."""
    return "".join("-" + letter.lower() if letter.isupper() else letter for letter in name).lstrip("-")


# Cases without a value, by family and word; they are the same every time.
CASES: dict[tuple[str, str], Any] = {}


def variant(namespace: Any, family: str, word: str, *value: Any) -> Any:
    """The case of a variant by its word; `other` for a word that the contract does not know."""
    known = CASES.get((family, word))
    if known is not None and not value:
        return known
    name = "".join(part.capitalize() for part in word.split("-"))
    kind = getattr(namespace, f"{family}_{name}", None)
    if kind is None or (word == "other" and not value):
        return getattr(namespace, f"{family}_Other")(word)
    made = kind(*value)
    if not value:
        CASES[family, word] = made
    return made


def access_error(error: Any) -> errors.AccessError:
    """The exception for a case of `access-error`."""
    value = error.value
    if isinstance(value, wit.SizeInfo):
        return errors.TooLarge(value.what, value.size, value.limit)
    if isinstance(value, wit.TimeoutInfo):
        return errors.TimedOut(value.what, value.after_ms, value.last_good)
    return ERRORS.get(case(error), errors.OtherError)(value)


def access_error_to_wit(error: errors.AccessError) -> Any:
    """The case of `access-error` for an exception."""
    if isinstance(error, errors.TooLarge):
        return wit.AccessError_TooLarge(wit.SizeInfo(error.what, error.size, error.limit))
    if isinstance(error, errors.TimedOut):
        return wit.AccessError_TimedOut(wit.TimeoutInfo(error.what, error.after_ms, error.last_good))
    return variant(wit, "AccessError", error.case, error.what)


# --- what the host answers ---


PLAIN = frozenset((type(None), bool, int, float, str, bytes))
# How values of a class of the contract become the SDK's, by that class and the capability's module.
CONVERTERS: dict[tuple[type, int], Callable[[Any], Any]] = {}


def adopt(value: Any, names: dict[str, Any]) -> Any:
    """An answer of the host in the SDK's classes: those of the same name in the capability's module."""
    of = type(value)
    if of in PLAIN:
        return value
    if of is list:
        if not value or type(value[0]) in PLAIN:
            return value
        # An answer has hundreds of files or more: what is to be done with an item is looked up once.
        first = type(value[0])
        convert = converter(first, names)
        return [convert(item) if type(item) is first else adopt(item, names) for item in value]
    if of is tuple:
        return tuple(adopt(item, names) for item in value)
    return converter(of, names)(value)


def converter(of: type, names: dict[str, Any]) -> Callable[[Any], Any]:
    """Makes values of a class the SDK's."""
    known = CONVERTERS.get((of, id(names)))
    if known is None:
        known = CONVERTERS[of, id(names)] = make_converter(of, names)
    return known


def make_converter(of: type, names: dict[str, Any]) -> Callable[[Any], Any]:
    """The same, for a class that is seen for the first time."""
    if of in (list, tuple):
        return lambda value: adopt(value, names)
    if of is Ok:
        return lambda value: adopt(value.value, names)
    if of is Err:
        return lambda value: access_error(value.value)
    if of is wit.Event:
        return event_from_wit
    kind = names.get(of.__name__)
    if kind is None:
        return lambda value: value
    if issubclass(of, Enum):
        return lambda value: kind(value.value)
    if not is_dataclass(of):
        return kind  # a resource, wrapped
    return record_converter(kind, names)


# Types of parts, as the SDK's classes declare them, that are the same on both sides.
SAME = frozenset(("str", "int", "float", "bool", "bytes", "str | None", "int | None", "float | None", "bool | None"))


def record_converter(kind: Any, names: dict[str, Any]) -> Callable[[Any], Any]:
    """Makes a record of the contract one of the SDK."""
    parts = [(part.name, part.type) for part in fields(kind)]
    other = [at for at, (name, of) in enumerate(parts) if of not in SAME and name not in PAIRS]
    pairs = [at for at, (name, _) in enumerate(parts) if name in PAIRS]
    get = operator.attrgetter(*(name for name, _ in parts))
    if len(parts) == 1:
        return lambda value: kind(adopt(get(value), names))
    if not other and not pairs:
        return lambda value: kind(*get(value))

    def convert(value: Any) -> Any:
        given = list(get(value))
        for at in other:
            part = given[at]
            if type(part) is Ok:
                part = part.value
            given[at] = part if type(part) in PLAIN else adopt(part, names)
        for at in pairs:
            given[at] = dict(given[at] or ())
        return kind(*given)

    return convert


class Guest:
    """Asks the host through the component's imports."""

    def __init__(self) -> None:
        self.modules: dict[str, Any] = {}

    def add(self, interface: str) -> None:
        """Makes an import known; done before the snapshot, since a component has no files."""
        self.modules[interface] = importlib.import_module(f"wit_world.imports.{interface}")
        importlib.import_module(f"gpud_sdk.{interface}")

    def call(self, interface: str, function: str, arguments: tuple[Any, ...], names: dict[str, Any]) -> Any:
        """Implements `_host.Backend`."""
        module = self.modules.get(interface)
        if module is None:
            raise RuntimeError(f"import gpud_sdk.{interface} at the top of a module, so that the build sees it")
        try:
            answer = getattr(module, function)(*[give(argument, module) for argument in arguments])
        except Err as error:
            raise access_error(error.value) from None
        return adopt(answer, names)

    def method(self, resource: Any, name: str, arguments: tuple[Any, ...], names: dict[str, Any]) -> Any:
        """A call on a resource."""
        module = sys.modules[type(resource).__module__]
        try:
            answer = getattr(resource, name)(*[give(argument, module) for argument in arguments])
        except Err as error:
            raise access_error(error.value) from None
        return adopt(answer, names)


def give(value: Any, module: Any) -> Any:
    """An argument in the contract's classes: those of the same name in the interface's module."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, Enum):
        return getattr(module, type(value).__name__)(value.value)
    if is_dataclass(value):
        parts = (give(getattr(value, part.name), module) for part in fields(value))
        return getattr(module, type(value).__name__)(*parts)
    return getattr(value, "_resource", value)


# --- what the plugin says ---


def subject_to_wit(subject: types.Subject | None) -> Any:
    """A subject."""
    if subject is None:
        return None
    if subject.kind == "node":
        return wit.Subject_Node()
    value: Any = subject.value
    if subject.kind == "gpu":
        value = wit.GpuId(*value)
    elif subject.kind == "port":
        value = wit.PortId(*value)
    return variant(wit, "Subject", subject.kind, value)


def subject_from_wit(subject: Any) -> types.Subject | None:
    """A subject of a stored event."""
    if subject is None:
        return None
    value = getattr(subject, "value", None)
    if is_dataclass(value):
        value = tuple(getattr(value, part.name) for part in fields(value))
    return types.Subject(words(case(subject)), value)


def evidence_to_wit(evidence: list[types.Evidence]) -> list[Any]:
    """Evidence."""
    return [variant(wit, "Evidence", one.kind, one.value) for one in evidence]


def event_to_wit(event: types.Event) -> Any:
    """An event."""
    merge = event.merge
    return wit.Event(
        event.time,
        event.name,
        variant(wit, "EventType", types.word(event.event_type)),
        event.message,
        subject_to_wit(event.subject),
        evidence_to_wit(event.evidence),
        types.pairs(event.extra_info),
        None if merge is None else wit.MergeRule(merge.key, merge.window_seconds),
        [],
    )


def event_from_wit(event: Any) -> types.Event:
    """A stored event."""
    return types.Event(
        event.time,
        event.name,
        member(types.EventType, event.event_type),
        event.message,
        subject_from_wit(event.subject),
        [types.Evidence(words(case(one)), one.value) for one in event.evidence],
        dict(event.extra_info),
    )


def member(family: Any, value: Any) -> Any:
    """The member of an open set, or its word."""
    word = getattr(value, "value", None) or words(case(value))
    return next((one for one in family if one.value == word), word)


def state_to_wit(state: types.HealthState) -> Any:
    """A state."""
    actions = state.suggested_actions
    if actions is not None:
        taken = [variant(wit, "RepairAction", types.word(action)) for action in actions.repair_actions]
        actions = wit.SuggestedActions(actions.description, taken)
    return wit.HealthState(
        state.name,
        state.time,
        variant(wit, "Health", types.word(state.health)),
        state.reason,
        state.error,
        actions,
        subject_to_wit(state.subject),
        [variant(wit, "Recovery", way.kind, *(() if way.value is None else (way.value,))) for way in state.recovery],
        state.latch,
        evidence_to_wit(state.evidence),
        types.pairs(state.extra_info),
        [],
    )


def metric_to_wit(metric: types.Metric) -> Any:
    """A metric. A report has hundreds or more, nearly all of one kind."""
    kind = METRIC_KINDS.get(metric.kind)
    if kind is None:
        kind = METRIC_KINDS[metric.kind] = variant(wit, "MetricKind", types.word(metric.kind))
    return wit.Metric(metric.name, types.pairs(metric.labels), float(metric.value), kind)


METRIC_KINDS: dict[Any, Any] = {}


def report_to_wit(report: types.Report) -> Any:
    """A report."""
    if not isinstance(report, types.Report):
        raise TypeError(f"a check gives a Report, not {type(report).__name__}")
    return wit.Report(
        report.supported,
        [state_to_wit(state) for state in report.states],
        [event_to_wit(event) for event in report.events],
        [metric_to_wit(metric) for metric in report.metrics],
        [],
    )


def component_to_wit(component: Component) -> Any:
    """A component of the descriptor."""
    return exported.ComponentDescriptor(
        component.name,
        component.description,
        [component.name] if component.tags is None else list(component.tags),
        component.interval_seconds * 1000,
        exported.RunMode_Manual() if component.manual else exported.RunMode_Auto(),
        variant(exported, "SetHealthyMode", component.set_healthy),
        [exported.MetricDescription(one.name, one.help, list(map(float, one.buckets))) for one in component.metrics],
        component.schema_text(),
        [],
    )


# Where the clock stands, in milliseconds: a component has none of its own, and asking for one would end it.
clock = [0]


def context_from_wit(context: Any) -> types.CheckContext:
    """The context of a call."""
    clock[0] = context.now
    return types.CheckContext(
        context.component,
        context.now,
        member(types.Trigger, context.trigger),
        context.boot_id,
        context.boot_time,
        context.previous_check,
        dict(context.extra),
    )


def honest(function: Callable[[], Any]) -> Any:
    """Runs an export; exceptions become the contract's errors. A trap is for bugs of the machinery alone."""
    try:
        return function()
    except errors.AccessError as error:
        raise Err(wit.CheckError_Source(access_error_to_wit(error))) from None
    except errors.GpudError as error:
        raise Err(wit.CheckError_Failed(str(error))) from None
    except BaseException as error:  # noqa: BLE001 - SystemExit as well: nothing may pass as a success
        for line in traced(error):
            write_log(wit_log.Level.ERROR, line)
        raise Err(wit.CheckError_Failed(clip(worded(error), 4000))) from None


def worded(error: BaseException) -> str:
    """What went wrong, in one line."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def traced(error: BaseException) -> list[str]:
    """Where it went wrong. By hand: the module `traceback` looks for source files, and there are none to look at."""
    lines = [worded(error)]
    place = error.__traceback__
    while place is not None:
        code = place.tb_frame.f_code
        lines.append(f"  {code.co_filename}, line {place.tb_lineno}, in {code.co_qualname}")
        place = place.tb_next
    if error.__cause__ is not None:
        lines += ["caused by", *traced(error.__cause__)]
    return lines[:MAX_LINES]


class Exports:
    """The exports of a component, for one class of the author."""

    def __init__(self, plugin: type[Checker]) -> None:
        self.plugin = plugin

    def describe(self) -> Any:
        """`checker.describe`."""
        descriptor = self.plugin.descriptor
        return exported.Descriptor(descriptor.version, list(map(component_to_wit, descriptor.components)), [])

    def check(self, context: Any) -> Any:
        """`checker.check`."""
        return honest(lambda: report_to_wit(self.plugin().check(context_from_wit(context))))

    def scan(self, context: Any) -> Any:
        """`scanner.scan`."""
        plugin: Any = self.plugin()
        return honest(lambda: report_to_wit(plugin.scan(context_from_wit(context))))

    def patterns(self, component: str) -> list[str]:
        """`kmsg-watcher.patterns`."""
        return self.plugin().patterns(component)  # type: ignore[attr-defined]

    def on_messages(self, context: Any, messages: list[Any]) -> list[Any]:
        """`kmsg-watcher.on-messages`."""
        names = vars(sys.modules["gpud_sdk.kmsg"])
        plugin: Any = self.plugin()
        return honest(
            lambda: [event_to_wit(one) for one in plugin.on_messages(context_from_wit(context), adopt(messages, names))]
        )


class LogWriter:
    """What `print` writes to: whole lines go into the daemon's log."""

    encoding = "utf-8"

    def __init__(self, level: Any) -> None:
        self.level, self.line = level, ""

    def write(self, text: str) -> int:
        """Collects text and writes the lines that are complete."""
        *lines, rest = (self.line + text).split("\n")
        for line in lines:
            write_log(self.level, line)
        self.line = rest[:4096]
        return len(text)

    def flush(self) -> None:
        """Writes what is left."""
        if self.line:
            write_log(self.level, self.line)
            self.line = ""

    def isatty(self) -> bool:
        """No."""
        return False


# Where lines for the daemon's log go; nowhere before the snapshot.
write_log: Callable[[Any, str], None] = lambda level, line: None  # noqa: E731


class PlainMachine:
    """A machine for the time before the snapshot, when there is no host yet: each file says 1, each pattern matches two.

    Replaces the imports themselves, so that the code that passes an answer to the plugin is warmed up as well.
    """

    def __init__(self, guest: Guest) -> None:
        self.modules = guest.modules
        self.real: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> None:
        for interface, module in self.modules.items():
            for name, function in list(vars(module).items()):
                if isinstance(function, FunctionType) and function.__module__ == module.__name__:
                    self.real.append((module, name, function))
                    setattr(module, name, getattr(self, f"{interface}_{name}", self.not_found))

    def __exit__(self, *_: object) -> None:
        for module, name, function in self.real:
            setattr(module, name, function)

    @staticmethod
    def not_found(*_: Any) -> Any:
        """What everything else answers."""
        raise Err(wit.AccessError_NotFound("there is no host yet"))

    @staticmethod
    def config_document() -> str:
        """Nothing is configured."""
        return "{}"

    @staticmethod
    def state_get(key: str) -> None:
        """Nothing is kept, and nothing will be."""

    @staticmethod
    def state_set(key: str, value: bytes) -> None:
        """See above."""

    @staticmethod
    def state_delete(key: str) -> None:
        """See above."""

    @staticmethod
    def sysfs_read(path: str, max_bytes: int) -> bytes:
        """A file."""
        return b"1\n"

    def sysfs_read_glob(self, pattern: str, max_bytes_each: int, max_files: int) -> list[Any]:
        """Files."""
        kind = self.modules["sysfs"].FileContent
        return [kind(pattern.replace("*", name), Ok(b"1\n")) for name in ("0", "1")]


def warm_up(exports: Any, plugin: type[Checker]) -> None:
    """Checks a plain machine a few times before the snapshot is taken.

    Python adapts its code to what runs, and makes things when they are first needed. What is in the snapshot need not
    be made, page by page, in every instance.
    """
    global write_log
    real, write_log = write_log, lambda level, line: None
    with PlainMachine(_host.backend):  # type: ignore[arg-type]
        for _ in range(ROUNDS):
            exports.describe()
            for component in plugin.descriptor.components:
                context = wit.CheckContext(component.name, 0, wit.Trigger_Scheduled(), "", 0, None, [])
                try:
                    exports.check(context)
                except Err:
                    continue
    write_log = real


# Enough for Python to adapt a function.
ROUNDS = 64


def start(interfaces: list[str]) -> None:
    """Puts the component's imports behind the capabilities. Called once, before the snapshot is taken."""
    global write_log
    time.time, time.time_ns = lambda: clock[0] / 1000, lambda: clock[0] * 1_000_000
    time.monotonic = time.perf_counter = lambda: 0.0
    guest = Guest()
    for interface in interfaces:
        guest.add(interface)
    _host.backend = guest
    write_log = wit_log.write
    sys.stdout, sys.stderr = LogWriter(wit_log.Level.INFO), LogWriter(wit_log.Level.WARN)  # type: ignore[assignment]
