"""Messages from YAML and to YAML."""

from __future__ import annotations

import array
import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np


class BadMessageError(ValueError):
    """A type or a field does not exist, or a value does not fit."""


def load_interface(name: str, kind: str) -> Any:
    """Class of `package/kind/Type` (`package/Type` works too)."""
    parts = name.split("/")
    if len(parts) not in (2, 3):
        raise BadMessageError(f"type {name!r}: package/{kind}/Type is needed")
    try:
        return getattr(importlib.import_module(f"{parts[0]}.{kind}"), parts[-1])
    except (ImportError, AttributeError) as error:
        raise BadMessageError(f"type {name!r} is not installed; is the workspace sourced?") from error


def fill(message: Any, values: Any) -> Any:
    """Set fields from a mapping, recursively; returns the message."""
    if not isinstance(values, Mapping):
        raise BadMessageError(f"{type(message).__name__}: {values!r} given; a mapping of fields is needed")
    types = message.get_fields_and_field_types()
    for name, value in values.items():
        if name not in types:
            raise BadMessageError(f"{type(message).__name__} has no field {name!r}; fields: {', '.join(types)}")
        current = getattr(message, name)
        if hasattr(current, "get_fields_and_field_types"):
            fill(current, value)
            continue
        base = types[name].split("[")[0].removeprefix("sequence<").split(",")[0].rstrip(">")
        if isinstance(value, list) and "/" in base:
            kind = load_interface(base.replace("/", "/msg/", 1) if base.count("/") == 1 else base, "msg")
            value = [fill(kind(), entry) for entry in value]
        elif base in ("double", "float") and isinstance(value, int | list):
            value = [float(v) for v in value] if isinstance(value, list) else float(value)
        elif base == "string" and not isinstance(value, list):
            value = str(value)
        try:
            setattr(message, name, value)
        except (AssertionError, TypeError) as error:
            raise BadMessageError(f"field {name}: {value!r} does not fit {types[name]} ({error})") from error
    return message


def plain(value: Any, limit: int = 128) -> Any:
    """A message as plain YAML values; arrays longer than the limit are cut."""
    if hasattr(value, "get_fields_and_field_types"):
        return {name: plain(getattr(value, name), limit) for name in value.get_fields_and_field_types()}
    if isinstance(value, list | tuple | array.array | np.ndarray):
        entries = [plain(v, limit) for v in value[:limit]]
        return [*entries, f"... {len(value) - limit} more"] if len(value) > limit else entries
    if isinstance(value, bytes):
        return list(value[:limit])
    return value.item() if isinstance(value, np.generic) else value
