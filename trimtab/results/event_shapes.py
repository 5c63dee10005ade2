"""The shapes of events that reports take apart: what a record of somebody else must look like.

A shape is a type, a tuple of types, a list with the shape of its items, a dictionary with the shape
of each key, or `OrNull` of a shape. Integers have 64 bits. A key that ends with "?" may be absent,
and "*" stands for all other keys. Keys that no shape names are ignored, since other versions may
write more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class OrNull:
    """A shape, or null."""

    shape: Any


_NUMBER = (int, float)
_COUNT_OR_NULL = (int, type(None))
_OPERATOR = {"label": str, "macs": int, "weights_bytes": int, "moved_bytes": int, "reads": [int]}
_SPAN = {"ns": int, "instructions?": _COUNT_OR_NULL, "counters?": [OrNull([int])]}

SHAPES: Mapping[str, Any] = {
    "size": {"sections?": {"*": int}, "groups?": {"*": int}},
    "shipped": {
        "ways": [
            {
                "what": str,
                "model_bytes": int,
                "binary_bytes?": _COUNT_OR_NULL,
                "memory_bytes?": _COUNT_OR_NULL,
            }
        ]
    },
    "operators": {"labels?": [str]},
    "network": {
        "operators?": [{**_OPERATOR, "prepares?": bool}],
        "memory?": [{"name": str, "bytes": int, "first": int, "last": int}],
        "before?": [
            {"label": str, "reads": [int], "becomes": _COUNT_OR_NULL, "prepares?": bool},
        ],
        "gb_per_s?": (*_NUMBER, type(None)),
    },
    **dict.fromkeys(("load", "verify", "first", "warmup"), _SPAN),
    "run": {**_SPAN, "frame?": int, "wait_ns?": int},
    "cpu": {"ns": int, "runs": int, "wall_ns": int},
    "pace": {
        "fps": _NUMBER,
        "seconds": _NUMBER,
        "samples": [[(*_NUMBER, type(None))]],
        "why": str,
        "busy?": {"*": _NUMBER},
    },
    "op": {**_SPAN, "index": int, "run": int, "name?": str, "shares?": [OrNull([int])]},
    "peak": {"vm_hwm_bytes": _COUNT_OR_NULL, "rss_file_bytes?": _COUNT_OR_NULL},
    "end": {"seconds?": (*_NUMBER, type(None))},
    "memory": {"event": str, "*": int},
    "header": {
        "control?": {"uncontrolled?": [str]},
        "protocol?": {
            "threads?": int,
            "sweep?": {
                "configuration?": dict,
                "revisions?": {"*": OrNull({"commit": str, "is_changed": bool})},
            },
        },
    },
}
"""Shapes by the kind of event."""


def check(event: Mapping[str, Any]) -> None:
    """Raises TypeError, with the place, if an event differs from the shape of its kind."""
    if shape := SHAPES.get(event["event"]):
        _check(event, shape, event["event"])


def _check(value: Any, shape: Any, place: str) -> None:
    if isinstance(shape, OrNull):
        if value is not None:
            _check(value, shape.shape, place)
    elif isinstance(shape, dict):
        _expect(value, dict, place)
        named = {key.removesuffix("?"): key for key in shape if key != "*"}
        for name, key in named.items():
            if name in value:
                _check(value[name], shape[key], f"{place}.{name}")
            elif not key.endswith("?"):
                raise TypeError(f"{place} lacks {name}")
        for name in value if "*" in shape else ():
            if name not in named:
                _check(value[name], shape["*"], f"{place}.{name}")
    elif isinstance(shape, list):
        _expect(value, list, place)
        for i, item in enumerate(value):
            _check(item, shape[0], f"{place}[{i}]")
    else:
        _expect(value, shape, place)


def _expect(value: Any, types: type | tuple[type, ...], place: str) -> None:
    if not isinstance(value, types) or (isinstance(value, int) and abs(value) >= 2**63):
        raise TypeError(f"{place} is {value!r:.100}")
