"""JSON by RFC 8259, which has neither NaN nor infinity: such a number becomes null.

All JSON of trimtab is written by `dumps`, so that every reader accepts it: `json.dumps` by itself
writes the words NaN and Infinity, which are an error in browsers, jq and most other parsers. Uses
the standard library only.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def dumps(value: Any, **options: Any) -> str:
    """The JSON text of `value`; `options` are those of `json.dumps`, such as `indent`."""
    return json.dumps(_finite(value), allow_nan=False, **options)


def _finite(value: Any) -> Any:
    """`value` with None in place of every number that is not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return value
