"""The component's configuration. Grant: `config: true`."""

from __future__ import annotations

import json
from typing import Any

from gpud_sdk import _host
from gpud_sdk.errors import CheckFailed


def text() -> str:
    """The JSON document as the operator wrote it; `{}` when nothing was configured. At most 256 KiB."""
    return _host.call("config", "document", (), globals())


def document() -> dict[str, Any]:
    """The document as a dictionary. It fits the schema of the descriptor; read it with care all the same.

    Raises `CheckFailed` when it is not one JSON object.
    """
    content = text()
    if content == "{}":  # the usual one
        return {}
    try:
        document = json.loads(content)
    except ValueError as error:
        raise CheckFailed(f"the configuration is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise CheckFailed("the configuration is not a JSON object")
    return document
