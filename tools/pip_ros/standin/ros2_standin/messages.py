"""Messages to and from YAML, and types by name."""

from __future__ import annotations

import array
import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import yaml

from .errors import CommandError

TRUNCATED = 128
"""Arrays and texts longer than this are cut unless asked for in full."""


def load_type(name: str, kind: str) -> type:
    """The class of e.g. std_msgs/msg/String; kind is msg, srv or action. Raises CommandError."""
    parts = name.split("/")
    if len(parts) == 2:
        parts.insert(1, kind)
    if len(parts) != 3 or parts[1] != kind:
        raise CommandError(f"'{name}' is no {kind} type; write package/{kind}/Name")
    try:
        return getattr(importlib.import_module(f"{parts[0]}.{kind}"), parts[2])
    except (ImportError, AttributeError):
        raise CommandError(f"type '{name}' is not installed; is install/setup.bash sourced?") from None


def to_plain(value: Any, *, full: bool = False) -> Any:
    """A message as dictionaries, lists and scalars; long arrays are cut unless full."""
    if hasattr(value, "get_fields_and_field_types"):
        return {name: to_plain(getattr(value, name), full=full) for name in value.get_fields_and_field_types()}
    if isinstance(value, bytes):
        value = list(value)
    if isinstance(value, np.ndarray | array.array):
        value = value.tolist()
    if isinstance(value, list | tuple):
        cut = len(value) > TRUNCATED and not full
        plain = [to_plain(item, full=full) for item in (value[:TRUNCATED] if cut else value)]
        return [*plain, "..."] if cut else plain
    if isinstance(value, str) and len(value) > TRUNCATED and not full:
        return value[:TRUNCATED] + "..."
    return value


def to_yaml(value: Any, *, full: bool = False) -> str:
    """A message as YAML text."""
    text = yaml.safe_dump(to_plain(value, full=full), sort_keys=False, allow_unicode=True, width=1_000_000)
    return text.removesuffix("...\n")


def fill(message: Any, text: str) -> Any:
    """Set a message's fields from YAML text such as "{a: 1, b: {c: x}}"; raises CommandError; returns it."""
    try:
        values = yaml.safe_load(text) if text else {}
    except yaml.YAMLError as error:
        raise CommandError(f"the values are not YAML: {error}") from None
    if not isinstance(values, Mapping):
        raise CommandError(f"the values must be a mapping such as '{{field: value}}', got: {text}")
    _set(message, values, type(message).__name__)
    return message


def _set(message: Any, values: Mapping[str, Any], where: str) -> None:
    fields = message.get_fields_and_field_types()
    for name, value in values.items():
        if name not in fields:
            raise CommandError(f"{where} has no field '{name}'; it has: {', '.join(fields) or 'none'}")
        current = getattr(message, name)
        if hasattr(current, "get_fields_and_field_types"):
            if not isinstance(value, Mapping):
                raise CommandError(f"{where}.{name} is a {fields[name]}: give a mapping, not {value!r}")
            _set(current, value, f"{where}.{name}")
            continue
        try:
            setattr(message, name, _convert(value, fields[name], current, f"{where}.{name}"))
        except (AssertionError, TypeError, ValueError) as error:
            raise CommandError(f"{where}.{name} is a {fields[name]} and cannot be {value!r}: {error}") from None


def _convert(value: Any, field: str, current: Any, where: str) -> Any:
    if isinstance(current, float):
        return float(value)
    if isinstance(current, np.ndarray):
        return np.asarray(value, dtype=current.dtype)
    if isinstance(current, bytes):
        return bytes([value]) if isinstance(value, int) else value
    if isinstance(current, array.array):
        return array.array(current.typecode, value)
    if not isinstance(current, list):
        return value
    if not isinstance(value, list):
        raise TypeError("a list is needed")
    element = field.removeprefix("sequence<").partition(">")[0].partition(",")[0].partition("[")[0]
    if "/" not in element:
        return value
    items = []
    for number, item in enumerate(value):
        inner = load_type(element, "msg")()
        _set(inner, item, f"{where}[{number}]")
        items.append(inner)
    return items
