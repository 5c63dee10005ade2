"""Networks of well-known families with the outputs that another engine computed for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ops.cases.case import Array
from trimtab import paths


def model(folder: str, file: str) -> Path:
    """The path of a model; skips the test when it is not there."""
    path = paths.root().parent / "shared" / "models" / folder / file
    if not path.exists():
        pytest.skip(f"no ../shared/models/{folder}/{file}")
    return path


def golden(path: Path) -> tuple[list[Array], dict[str, Array]]:
    """Inputs in their order and outputs by name, of the model at `path`."""
    with np.load(path.parent / "golden.npz") as file:
        inputs = [file[name] for name in file.files if name.startswith("in:")]
        return inputs, {name[4:]: file[name] for name in file.files if name.startswith("out:")}


def assert_close(actual: Array, wanted: Array, tolerance: float = 1e-4) -> None:
    """The same shape, and within `tolerance` of the largest wanted value."""
    assert actual.shape == wanted.shape
    assert float(abs(actual - wanted).max()) <= tolerance * float(abs(wanted).max())
