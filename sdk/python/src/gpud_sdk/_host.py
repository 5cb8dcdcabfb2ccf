"""Where the calls of the capabilities go: to the host, or in tests to a fake one."""

from __future__ import annotations

from typing import Any, Protocol


class Backend(Protocol):
    """Answers the calls."""

    def call(self, interface: str, function: str, arguments: tuple[Any, ...], types: dict[str, Any]) -> Any:
        """The answer, in the classes that `types` (a module's names) has; `AccessError` when there is none."""

    def method(self, resource: Any, name: str, arguments: tuple[Any, ...], types: dict[str, Any]) -> Any:
        """The same for a call on a resource."""


class Nobody:
    """There is no host: natively, and outside of a test."""

    def call(self, interface: str, function: str, arguments: tuple[Any, ...], types: dict[str, Any]) -> Any:
        """Always refuses."""
        raise RuntimeError(
            f"{interface}.{function} was called without a host: run the code within `with FakeHost():` "
            "(gpud_sdk.testing), and call no capability when a module is imported"
        )

    def method(self, resource: Any, name: str, arguments: tuple[Any, ...], types: dict[str, Any]) -> Any:
        """Always refuses."""
        return self.call(type(resource).__name__, name, arguments, types)


backend: Backend = Nobody()


def call(interface: str, function: str, arguments: tuple[Any, ...], types: dict[str, Any]) -> Any:
    """Asks the current backend."""
    return backend.call(interface, function, arguments, types)


def method(resource: Any, name: str, arguments: tuple[Any, ...], types: dict[str, Any]) -> Any:
    """Asks the current backend about a resource."""
    return backend.method(resource, name, arguments, types)
