"""The operators that pack weights, against reference implementations in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ops import packing
from trimtab import kernels, schema
from trimtab.engine import engine
from trimtab.program import attributes
from trimtab.target import Target

Array = NDArray[Any]
TYPES = ("f32", "f16")
# This machine's instruction sets with kernels that transform weights.
TRANSFORM = sorted(
    {k.isa for k in kernels.inventory().values() if k.typed_family == "winograd_weights_f32"}
    & set(Target.host().isas)
)


def weights(*shape: int) -> Array:
    """Seeded float32 values that f16 can represent."""
    values = np.random.default_rng(len(shape)).standard_normal(shape)
    return values.astype(np.float16).astype(np.float32)


def packed_by(op: str, stored: Array, shape: tuple[int, ...], dtype: str, **values: Any) -> Array:
    """The result of operator `op` for weights in storage type `dtype`."""
    result = schema.operators()[op]
    w = stored.astype({"f32": np.float32, "f16": np.float16}[dtype]).reshape(shape)
    defaults = {a.name: a.default for a in result.attributes}
    block = attributes.encode(result, defaults | values)
    return np.asarray(
        engine().run_operator(result.id, [(w, schema.DTYPES[dtype])], block, 1)[0], np.float32
    )


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("panel", [1, 4, 8, 16])
@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("columns", [1, 5, 16, 35])
def test_panels_are_filled_up_with_zeros(dtype: str, panel: int, groups: int, columns: int) -> None:
    blocks = [weights(groups, depth, columns) for depth in (7, 1, 12)]
    stored, expected = packing.panels(blocks, panel)
    actual = packed_by(
        "pack_panels", stored, stored.shape, dtype,
        groups=groups, columns=columns, depths=(7, 1, 12), panel=panel,
    )  # fmt: skip
    assert actual.tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("groups", "together", "columns", "panel"),
    [(4, 2, 3, 8), (6, 3, 4, 12), (5, 5, 1, 8), (32, 8, 4, 32), (2, 1, 7, 8)],
)
def test_groups_of_a_panel_are_zero_in_the_rows_of_others(
    dtype: str, groups: int, together: int, columns: int, panel: int
) -> None:
    w = weights(groups, 6, 5, columns)
    stored, expected = packing.merged(w, panel, together)
    actual = packed_by(
        "pack_merged", stored, (groups * columns, 5, 2, 3), dtype,
        groups=groups, merged=together, channels=5, panel=panel,
    )  # fmt: skip
    assert actual.tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("panel", [4, 8, 16])
@pytest.mark.parametrize("channels", [2, 10, 600])
@pytest.mark.parametrize("c_out", [3, 32, 45])
def test_sums_of_quadrants_are_those_of_strassen_and_winograd(
    dtype: str, panel: int, channels: int, c_out: int
) -> None:
    w = weights(c_out, channels)
    stored, expected = packing.strassen(w, panel)
    actual = packed_by("pack_strassen", stored, (c_out, channels, 1, 1), dtype, panel=panel)
    assert actual.tolist() == expected.tolist()


@pytest.mark.parametrize("isa", TRANSFORM)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("tile", "kernel", "stride"),
    [(2, 3, 1), (3, 3, 1), (4, 2, 1), (4, 3, 1), (6, 3, 1), (4, 5, 1), (5, 4, 1), (2, 5, 2),
     (3, 5, 2), (4, 3, 2), (5, 7, 2)],
)  # fmt: skip
@pytest.mark.parametrize(("c_out", "channels", "panel"), [(9, 32, 4), (32, 40, 16), (70, 300, 32)])
def test_weights_are_transformed_as_the_points_of_the_matrices_say(
    isa: str, dtype: str, tile: int, kernel: int, stride: int, c_out: int, channels: int, panel: int
) -> None:
    w = weights(c_out, channels, kernel, kernel)
    stored, expected = packing.winograd_weights(w, tile, stride, panel)
    size = tile + -(-kernel // stride) - 1
    candidates = [
        k.name
        for k in kernels.inventory().values()
        if (k.typed_family, k.isa) == ("winograd_weights_f32", isa)
        and k.nr in (0, size)
        and k.mr in (0, tile)
    ]
    actual = packed_by(
        "pack_winograd", stored, w.shape, dtype,
        tile=tile, stride=stride, panel=panel, kernel=candidates[0],
    )  # fmt: skip
    # Two sums of at most 7 products each; elements of G are below 1 or powers of two.
    bound = 32 * 2.0**-24 * np.abs(expected).max()
    assert np.abs(actual - expected).max() <= bound
    assert np.abs(expected).max() > 0.1
