"""Conversion of constants to f16."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import PlanError


def to_f16(data: NDArray[Any], name: str, hint: str) -> NDArray[np.float16]:
    """Rounds the elements of the constant `name` to f16; PlanError with `hint` on overflow."""
    with np.errstate(over="ignore"):
        half = data.astype(np.float16)
    if np.any(np.isinf(half) & np.isfinite(data)):
        raise PlanError(
            f"a constant holds {np.abs(data).max():g}, which is too large for f16",
            where=f"constant {name}",
            hint=hint,
        )
    return half
