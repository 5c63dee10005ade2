"""Sparse constants of TFLite, against LiteRT."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.importers.test_tflite_operators import interpreted
from tests.importers.tflite_writer import Model, Sparsity
from tests.ops.cases.case import Array, normal
from trimtab.errors import ModelFileError

ROWS = np.array([[0, 5, 0, 7, 0, 0], [0] * 6, [1, 0, 0, 0, 0, 2], [0, 0, 3, 0, 4, 0]], np.float32)


def compressed(dense: Array) -> tuple[list[int], list[int]]:
    """Segments and indices of the rows of a matrix."""
    counts = np.count_nonzero(dense, axis=1)
    return [0, *np.cumsum(counts).tolist()], np.nonzero(dense)[1].tolist()


def blocked(height: int, width: int) -> tuple[Array, Sparsity]:
    """The elements of ROWS in blocks that hold any, and their places."""
    blocks = ROWS.reshape(4 // height, height, 6 // width, width).swapaxes(1, 2)
    is_used = np.asarray(blocks.any((2, 3)))
    levels = (4 // height, compressed(is_used), height, width)
    return blocks[is_used], Sparsity([0, 1, 2, 3], levels, [0, 1])


def densified(values: Array, sparsity: Sparsity) -> Model:
    """The sum of an input and a sparse constant of the shape of ROWS."""
    model = Model()
    x, constant = model.input(normal(4, 6)), model.constant(values.ravel())
    model.tensors[constant].shape = ROWS.shape
    model.tensors[constant].sparsity = sparsity
    dense = model.add("DENSIFY", [constant], [ROWS.shape], "DensifyOptions")
    model.outputs = model.add("ADD", [x, *dense], [ROWS.shape], "AddOptions")
    return model


@pytest.mark.parametrize(
    ("values", "sparsity"),
    [
        (ROWS[ROWS != 0], Sparsity([0, 1], [4, compressed(ROWS)])),
        (ROWS.T[ROWS.T != 0], Sparsity([1, 0], [6, compressed(ROWS.T)])),
        blocked(2, 3),
        blocked(1, 2),
    ],
    ids=["rows", "columns", "blocks of 2x3", "blocks of 1x2"],
)
def test_a_sparse_constant(values: Array, sparsity: Sparsity, tmp_path: Path) -> None:
    model, path = densified(values, sparsity), tmp_path / "net.tflite"
    path.write_bytes(model.bytes())
    program = trimtab.load(path)
    (y,) = trimtab.Session(program).run({"input_0": model.feeds[0]}).values()
    np.testing.assert_array_equal(y, model.feeds[0] + ROWS)
    np.testing.assert_array_equal(y, interpreted(model)[0])


@pytest.mark.parametrize(
    "sparsity",
    [
        Sparsity([0, 0], [4, compressed(ROWS)]),
        Sparsity([0, 1], [2**30, compressed(ROWS)]),
        Sparsity([0, 1], [4, ([0, 2, 2, 4, 60], compressed(ROWS)[1])]),
        Sparsity([0, 1], [4, ([0, -2, 2, 4, 6], compressed(ROWS)[1])]),
        Sparsity([0, 1], [4, ([0, 2], compressed(ROWS)[1])]),
        Sparsity([0, 1], [4, (compressed(ROWS)[0], [1, 3, 0, 5, 2, 99])]),
        Sparsity([0, 1, 2], [4, compressed(ROWS), 2], [7]),
    ],
)
def test_a_damaged_sparse_constant_is_an_error(sparsity: Sparsity, tmp_path: Path) -> None:
    path = densified(ROWS[ROWS != 0], sparsity).write(tmp_path)
    with pytest.raises(ModelFileError, match="is a damaged TFLite model"):
        trimtab.load(path)
