"""Constants in f16."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import PlanError


def halved(data: NDArray[Any], name: str, hint: str) -> NDArray[np.float16]:
    """The elements of the constant `name`, rounded to f16; PlanError, with `hint`, when one is too
    large for it.
    """
    with np.errstate(over="ignore"):
        half = data.astype(np.float16)
    if np.any(np.isinf(half) & np.isfinite(data)):
        raise PlanError(
            f"a constant holds {np.abs(data).max():g}, which is too large for f16",
            where=f"constant {name}",
            hint=hint,
        )
    return half
