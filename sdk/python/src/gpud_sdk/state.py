"""Small values that survive from call to call and across restarts. Grant: `state: true`.

At most 256 keys of at most 256 bytes, 64 KiB a value, 1 MiB in all; beyond is `TooLarge`. What a call writes is kept
only when the call ends well.
"""

from __future__ import annotations

from gpud_sdk import _host


def get(key: str) -> bytes | None:
    """The value of a key, if there is one."""
    return _host.call("state", "get", (key,), globals())


def get_text(key: str) -> str | None:
    """The value of a key as text, if there is one and it is UTF-8."""
    value = get(key)
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def set(key: str, value: bytes | str) -> None:  # noqa: A001 - the contract's word
    """Sets a key."""
    _host.call("state", "set", (key, value.encode() if isinstance(value, str) else bytes(value)), globals())


def delete(key: str) -> None:
    """Removes a key; removing what is not there is fine."""
    _host.call("state", "delete", (key,), globals())


def keys(prefix: str = "") -> list[str]:
    """Keys that begin with a prefix, sorted."""
    return _host.call("state", "keys", (prefix,), globals())
