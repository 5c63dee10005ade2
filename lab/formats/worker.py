"""One model file in a process of its own: `python -m lab.formats.worker PATH SHAPE`.

Prints a line of JSON: status, reason.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import trimtab
from lab.formats.runtimes import RUNTIMES, Array
from trimtab.errors import TrimtabError

MATCHES, NEARLY, DIFFERS, REFUSED, NOT_RUN = STATUSES = (
    "matches",
    "nearly matches",
    "differs",
    "refused",
    "not run",
)

FLOAT_TOLERANCE = 1e-3  # of the largest value of an output
FLOAT_FLOOR = 1e-6  # for outputs that are almost 0 everywhere
INTEGER_TOLERANCE = 2  # units, of quantized outputs
OUTLIERS = 1e-3  # share of elements of a near match: peaks and ranks that a last bit decides


def outcome(path: Path, shape: Sequence[int]) -> tuple[str, str]:
    """The status of a file, and the reason unless it matches."""
    try:
        inputs, expected = RUNTIMES[path.suffix][1](path, shape)
    except TrimtabError as error:
        return REFUSED, error.what
    except Exception as error:  # of any runtime
        return NOT_RUN, f"{' '.join(str(error).split())[:200]}{_is_loaded(path)}"
    try:
        shapes = {name: array.shape for name, array in inputs.items()}
        program = trimtab.load(path, inputs=_free(path, shapes))
        feeds = dict(zip(program.inputs, inputs.values(), strict=True))
        actual = trimtab.Session(program, cache=False).run(feeds)
    except TrimtabError as error:
        return REFUSED, error.what
    if len(actual) != len(expected):
        return DIFFERS, f"{len(actual)} outputs, not {len(expected)}"
    worst = MATCHES, ""
    for (name, own), want in zip(actual.items(), expected, strict=True):
        problem, share = difference(own, want)
        if share > OUTLIERS:
            return DIFFERS, f"{name} {problem}"
        if problem:
            worst = NEARLY, f"{name} {problem}"
    return worst


def _is_loaded(path: Path) -> str:
    """Whether trimtab loads a file of fixed shapes that its runtime does not run, in words."""
    try:
        trimtab.load(path)
    except TrimtabError:
        return ""
    return "; trimtab loads it"


def _free(path: Path, shapes: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """The shapes to pass to `load`; TFLite and Caffe files have their own."""
    return shapes if path.suffix in (".onnx", ".param") else {}


def difference(actual: Array, want: Array) -> tuple[str, float]:
    """How an output differs from the expected one, empty if it does not; and the share of its
    elements that do.
    """
    if actual.size != want.size:
        return f"has shape {list(actual.shape)}, not {list(want.shape)}", 1.0
    a, b = actual.ravel().astype(np.float64), want.ravel().astype(np.float64)
    if not a.size:
        return "", 0.0
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return "has other NaN", 1.0
    limit: float = INTEGER_TOLERANCE
    if want.dtype.kind == "f":
        limit = FLOAT_FLOOR + FLOAT_TOLERANCE * float(np.nanmax(np.abs(b), initial=0))
    errors = np.nan_to_num(np.abs(a - b))
    share = float(np.mean(errors > limit))
    if not share:
        return "", 0.0
    of = f"in {share:.2g} of its elements"
    return f"differs by {errors.max():.2g}, {limit:.2g} is allowed, {of}", share


if __name__ == "__main__":
    status, reason = outcome(Path(sys.argv[1]), json.loads(sys.argv[2]))
    print("\n" + json.dumps([status, reason]))
