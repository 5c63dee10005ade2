"""JSON by RFC 8259, which has neither NaN nor infinity: such a number becomes null.

A lone surrogate, which no encoder accepts, becomes U+FFFD.

All JSON of trimtab is written by `dumps`, so that every reader accepts it: `json.dumps` by itself
writes the words NaN and Infinity, which are an error in browsers, jq and most other parsers. All
JSON is read by `loads`, since `json.loads` by itself ends in a RecursionError for a hostile text.
Uses the standard library only.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")


def dumps(value: Any, **options: Any) -> str:
    """The JSON text of `value`; `options` are those of `json.dumps`, such as `indent`."""
    return json.dumps(_strict(value), allow_nan=False, **options)


def loads(text: str | bytes, **options: Any) -> Any:
    """The value of a JSON text; `options` are those of `json.loads`.

    Raises ValueError for anything else, also for values that are nested too deeply.
    """
    try:
        return json.loads(text, **options)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _strict(value: Any) -> Any:
    """`value` without what JSON cannot represent."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {_strict(key): _strict(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(one) for one in value]
    return value
