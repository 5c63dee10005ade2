"""Arrays as inputs of a network: they must have its element types, or be cast on request.

A silent conversion hides errors: the bytes of a picture, 0 to 255, in a network whose inputs are
normalized give an answer, and a wrong one. onnxruntime refuses other types, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import TrimtabError

# Element types of Python's own numbers, which have no size: they become the type of the input, but
# never one of fewer values, such as an integer of a fraction.
_PYTHON_NUMBERS = (np.dtype(bool), np.dtype(np.int64), np.dtype(np.float64))
_RANK = {"b": 0, "i": 1, "u": 1, "f": 2}


def converted(
    value: object,
    dtype: np.dtype[Any],
    *,
    name: str,
    cast: bool = False,
    error: type[TrimtabError],
    where: str = "",
    how: str = "cast=True",
) -> NDArray[Any]:
    """`value` as an array of `dtype`, for the input `name`.

    Arrays must have that type, in any byte order; lists of Python's numbers become it. `cast`
    converts any numbers, as `numpy.asarray(value, dtype)` does; `how` tells users to ask for that.
    Raises `error`, at `where`, for other types, and for what are not numbers.
    """
    try:
        array = np.asarray(value)
    except ValueError as reason:  # lists of unequal lengths
        raise error(f"input {name!r} is not an array: {reason}", where=where) from None
    if array.dtype.kind not in _RANK:
        raise error(
            f"input {name!r} has elements that are not numbers ({array.dtype})",
            where=where,
            hint=f"pass an array of {dtype}",
        )
    if array.dtype == dtype:
        return array
    if array.dtype.newbyteorder("=") == dtype or cast:
        return array.astype(dtype)
    if not hasattr(value, "dtype") and array.dtype in _PYTHON_NUMBERS:
        if _RANK[array.dtype.kind] <= _RANK[dtype.kind]:
            result = array.astype(dtype)
            if dtype.kind == "f" or np.array_equal(result, array):
                return result
        raise error(
            f"input {name!r} has numbers that {dtype} cannot hold",
            where=where,
            hint=f"pass numbers of {dtype}, or round them first; {how} converts them as numpy does",
        )
    raise error(
        f"input {name!r} is {array.dtype}, the model expects {dtype}",
        where=where,
        hint=_hint(array.dtype, dtype, how),
    )


def transposition(actual: tuple[int, ...], expected: tuple[int, ...]) -> str:
    """The step from an image in NCHW to one in NHWC, or the reverse; "" if neither fits."""
    for order, names in (((0, 2, 3, 1), "NCHW to NHWC"), ((0, 3, 1, 2), "NHWC to NCHW")):
        if len(actual) == 4 and tuple(actual[i] for i in order) == expected != actual:
            return f"transpose it from {names}: numpy.transpose(x, {order})"
    return ""


def _hint(actual: np.dtype[Any], expected: np.dtype[Any], how: str) -> str:
    if actual.kind != "f" and expected.kind == "f":
        return (
            f"normalize it as in training, such as (x / 255 - mean) / std, in {expected}; {how} "
            "passes the values as they are"
        )
    return f"convert it with .astype(numpy.{expected}); {how} does that"
