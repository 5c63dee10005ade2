"""Winograd convolution against float64, within the error bound of its arithmetic."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import trimtab
from tests.ops import convolutions, winograd
from tests.some import some
from trimtab.errors import ProgramError
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.target import Target

pytestmark = pytest.mark.bounds


@dataclass(frozen=True)
class Layer:
    """A convolution; sizes are those of the input."""

    c_in: int
    c_out: int
    h: int
    w: int
    n: int = 1
    pads: tuple[int, ...] = (1, 1, 1, 1)
    kernel: int = 3
    stride: int = 1
    bias: bool = True
    residual: bool = False
    activation: str = ""


LAYERS = {
    "whole tiles": Layer(16, 16, 12, 24),
    "every tile at a border": Layer(16, 32, 5, 5),
    "one pixel": Layer(16, 16, 1, 1),
    "one row": Layer(24, 16, 1, 37),
    "no padding": Layer(16, 24, 14, 11, pads=(0, 0, 0, 0)),
    "asymmetric padding": Layer(16, 16, 9, 10, pads=(0, 2, 1, 3)),
    "padding over the window": Layer(16, 16, 4, 3, pads=(9, 4, 5, 8)),
    "odd channels": Layer(17, 35, 13, 13),
    "many channels": Layer(160, 130, 7, 7),
    "images": Layer(19, 21, 8, 9, n=3),
    "blocks of tiles": Layer(48, 40, 61, 59),
    "no bias": Layer(16, 20, 10, 10, bias=False),
    "residual": Layer(18, 18, 11, 7, n=2, residual=True),
    "clamp": Layer(16, 33, 13, 9, residual=True, activation="relu"),
    "activation": Layer(16, 33, 13, 9, activation="sigmoid"),
}
# Other kernel sizes and strides: they have separate tiles, or use space-to-depth.
OTHERS = {
    "5x5": Layer(24, 33, 14, 17, pads=(2, 2, 2, 2), kernel=5, residual=True),
    "5x5, images": Layer(16, 16, 5, 3, n=3, pads=(2, 0, 1, 2), kernel=5),
    "4x4": Layer(16, 18, 11, 12, pads=(1, 1, 2, 2), kernel=4, activation="relu"),
    "first layer": Layer(3, 64, 31, 30, pads=(3, 3, 3, 3), kernel=7, stride=2),
    "first layer without padding": Layer(3, 16, 31, 40, pads=(0, 0, 0, 0), kernel=7, stride=2),
    "even kernel": Layer(3, 19, 22, 23, n=2, pads=(2, 2, 2, 2), kernel=6, stride=2),
    "last pixels unread": Layer(3, 16, 30, 31, pads=(0, 0, 0, 0), kernel=11, stride=4),
    "one channel": Layer(1, 16, 20, 21, pads=(4, 3, 4, 3), kernel=9, stride=2),
    "2x2": Layer(16, 18, 9, 10, pads=(0, 1, 1, 0), kernel=2),
    "3x3 with strides": Layer(20, 33, 27, 26, n=2, stride=2, residual=True),
    "3x3 with strides, few channels": Layer(3, 16, 14, 19, pads=(0, 0, 1, 1), stride=2),
    "strides and many channels": Layer(20, 24, 13, 12, kernel=5, stride=2, residual=True),
    "padding over squares": Layer(2, 16, 3, 4, pads=(9, 7, 8, 9), kernel=7, stride=2),
    "strides of three": Layer(3, 16, 25, 26, pads=(1, 2, 3, 4), kernel=7, stride=3, bias=False),
}
# Layers with strided tiles.
STRIDED = {
    "3x3 with strides, edges": Layer(16, 16, 5, 6, pads=(0, 0, 1, 1), stride=2),
    "3x3 with strides, one pixel": Layer(17, 16, 1, 1, stride=2, bias=False),
    "3x3 with strides, far padding": Layer(16, 18, 4, 3, pads=(5, 4, 3, 6), stride=2),
    "3x3 with strides, blocks": Layer(40, 48, 61, 59, stride=2, activation="relu"),
    "3x3 with strides, odd channels": Layer(19, 35, 14, 13, n=3, stride=2, residual=True),
}
TILES = {2: (4,), 3: (2, 3, 4, 5, 6), 4: (3, 5), 5: (2, 4)}  # tile sizes by number of taps
CASES = [
    *(
        (name, tile)
        for name, layer in (LAYERS | OTHERS).items()
        for tile in TILES[-(-layer.kernel // layer.stride)]
        if not winograd.is_strided(tile, layer.stride)
    ),
    *((name, 2) for name in ("3x3 with strides", *STRIDED)),
]


def forced(tile: int, stride: int = 1) -> Plan:
    strided = "_strided" if winograd.is_strided(tile, stride) else ""
    return Plan(algorithms=(f"winograd_{tile}{strided}",))


def program_of(layer: Layer) -> tuple[Program, dict[str, np.ndarray]]:
    """The layer and its inputs."""
    x = layer.n, layer.c_in, layer.h, layer.w
    w = layer.c_out, layer.c_in, layer.kernel, layer.kernel
    attributes = {"pads": layer.pads, "strides": (layer.stride, layer.stride)}
    return convolutions.program_of(layer, x, w, attributes)


def expected(  # type: ignore[no-untyped-def]
    program: Program, inputs: dict[str, np.ndarray], layer: Layer, tile: int, transformed_in: int
):
    """(result in float64, bound of the error)."""
    x, w = (np.asarray(a, np.float64) for a in (inputs["x"], program.vars["w"].data))
    y = winograd.convolution(x, w, layer.pads, layer.stride)
    rest = np.zeros_like(y)
    if layer.bias:
        b = np.asarray(program.vars["b"].data, np.float64)[None, :, None, None]
        y, rest = y + b, rest + np.abs(b)
    if layer.residual:
        y, rest = y + inputs["residual"], rest + np.abs(inputs["residual"])
    bound = winograd.error_bound(x, w, rest, tile, layer.pads, layer.stride, transformed_in)
    return convolutions.activated(y, bound, layer.activation)


@pytest.mark.parametrize(("prefer", "transformed_in"), [("balanced", 12), ("load", 1)])
@pytest.mark.parametrize(("name", "tile"), CASES)
def test_the_error_is_within_the_bound_of_the_arithmetic_with_every_instruction_set(
    name: str, tile: int, prefer: str, transformed_in: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = (LAYERS | OTHERS | STRIDED)[name]
    program, inputs = program_of(layer)
    reference, bound = expected(program, inputs, layer, tile, transformed_in)
    plan = replace(forced(tile, layer.stride), prefer=prefer)
    for isa in some(Target.host().isas):
        monkeypatch.setenv("TRIMTAB_ISA", isa)
        for threads in (1, 2):
            session = trimtab.Session(program, threads, plan)
            assert "conv_winograd" in {op.type for op in session.program.ops}
            (actual,) = session.run(inputs).values()
            error = np.abs(actual - reference)
            assert np.all(error <= bound), f"{isa}: {np.max(error / bound)} of the bound"
            assert error.max() <= 1e-3 * max(1.0, np.abs(reference).max())


@pytest.mark.parametrize(
    ("taps", "tile", "stride"),
    [*((r, m, 1) for r, tiles in TILES.items() for m in tiles), (3, 2, 2)],
)
def test_the_transform_matrices_compute_the_convolution(taps: int, tile: int, stride: int) -> None:
    a, b, g = winograd.matrices(tile, taps, stride)
    rng = np.random.default_rng(tile)
    d = rng.standard_normal(b.shape)
    w = rng.standard_normal((taps, taps))
    reference = winograd.convolution(d[None, None], w[None, None], (0, 0, 0, 0), stride)[0, 0]
    np.testing.assert_allclose(a @ ((g @ w @ g.T) * (b @ d @ b.T)) @ a.T, reference, atol=1e-12)


@pytest.mark.parametrize(
    ("attribute", "value", "complaint"),
    [
        ("tile", 7, "no Winograd tile"),
        ("tile", 4, "transforms are for tiles of another size"),
        ("strides", (2, 2), "no Winograd tile"),
        ("strides", (1, 2), "strides must be equal"),
        ("input_kernel", "", "no plan"),
        ("output_kernel", "gemm_f32_portable", "another family"),
    ],
)
def test_a_plan_that_does_not_fit_is_refused(attribute: str, value: object, complaint: str) -> None:
    program, _ = program_of(Layer(16, 16, 12, 12))
    planned = trimtab.optimize(program, plan=forced(6))
    (op,) = (op for op in planned.ops if op.type == "conv_winograd")
    if Target.host().isas == ("portable",):
        pytest.skip("portable transforms support every tile")
    op.attributes[attribute] = value
    with pytest.raises(ProgramError, match=complaint):
        trimtab.Session(planned)


def test_weights_that_are_too_short_are_refused() -> None:
    program, _ = program_of(Layer(16, 16, 12, 12))
    planned = trimtab.optimize(program, plan=replace(forced(6), prefer="load"))
    (op,) = (op for op in planned.ops if op.type == "conv_winograd")
    weights = planned.vars[op.inputs[1]]
    assert weights.data is not None
    weights.data = weights.data[:-1]
    with pytest.raises(ProgramError, match="packed weights are too short"):
        trimtab.Session(planned)
