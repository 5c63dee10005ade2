"""Dilated convolutions that skip taps or transform tiles of phases, against float64, at planned and
at other sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

import trimtab
from tests.engine.raw_runs import run_arrays
from tests.ops import convolutions
from tests.ops.convolutions import Array
from tests.some import some
from trimtab import modelfile
from trimtab.engine import engine
from trimtab.planner.algorithms import dilated
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.target import Target

FORCED = Plan(algorithms=("dilated",))


@pytest.fixture(autouse=True)
def any_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers that skip little are computed so, too."""
    monkeypatch.setattr(dilated, "LARGEST_SHARE", 1.0)


@dataclass(frozen=True)
class Layer:
    """A convolution of [n, c_in, h, w] with same-size padding, unless `pads` are given."""

    c_in: int
    c_out: int
    h: int
    w: int
    dilations: tuple[int, int]
    kernel: tuple[int, int] = (3, 3)
    strides: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] | None = None
    n: int = 1
    bias: bool = True
    residual: bool = False
    activation: str = ""

    @property
    def padding(self) -> tuple[int, int, int, int]:
        """Top, left, bottom, right."""
        down, right = ((k - 1) * d // 2 for k, d in zip(self.kernel, self.dilations, strict=True))
        return self.pads or (down, right, down, right)


LAYERS = {
    "one tap": Layer(20, 35, 9, 13, (13, 17)),
    "two taps in a corner": Layer(16, 40, 28, 28, (24, 24)),
    "all taps": Layer(9, 33, 40, 37, (2, 3)),
    "rows": Layer(7, 16, 11, 30, (8, 1)),
    "columns": Layer(7, 17, 11, 30, (1, 20)),
    "images": Layer(18, 20, 5, 7, (4, 6), n=3),
    "strides": Layer(9, 34, 23, 19, (10, 7), strides=(2, 3)),
    "kernel 5x2": Layer(8, 65, 15, 12, (5, 9), kernel=(5, 2)),
    "pads at one side": Layer(6, 18, 20, 20, (9, 9), pads=(18, 0, 0, 18)),
    "no tap": Layer(6, 18, 4, 5, (3, 3), pads=(12, 12, 12, 12)),
    "pixels that share cache sets": Layer(2048, 33, 7, 9, (12, 6)),
    "residual": Layer(19, 37, 14, 15, (12, 12), residual=True),
    "all": Layer(21, 66, 14, 15, (12, 10), residual=True, activation="sigmoid", n=2),
}


def program_of(layer: Layer) -> tuple[Program, dict[str, NDArray[np.float32]]]:
    """The layer and its inputs."""
    x, w = (layer.n, layer.c_in, layer.h, layer.w), (layer.c_out, layer.c_in, *layer.kernel)
    attributes = {"dilations": layer.dilations, "strides": layer.strides, "pads": layer.padding}
    return convolutions.program_of(layer, x, w, attributes)


def expected(layer: Layer, program: Program, inputs: dict[str, NDArray[np.float32]]) -> Array:
    """The sum over the taps of shifted pictures, in float64."""
    w, b = (np.asarray(program.vars[name].data, np.float64) for name in ("w", "b"))
    top, left, bottom, right = layer.padding
    x = np.pad(inputs["x"].astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    extents = [(k - 1) * d for k, d in zip(layer.kernel, layer.dilations, strict=True)]
    h, wide = x.shape[2] - extents[0], x.shape[3] - extents[1]
    y = np.zeros((len(x), len(w), -(-h // layer.strides[0]), -(-wide // layer.strides[1])))
    for ky, kx in np.ndindex(layer.kernel):
        down, across = ky * layer.dilations[0], kx * layer.dilations[1]
        shifted = x[:, :, down : down + h, across : across + wide]
        shifted = shifted[:, :, :: layer.strides[0], :: layer.strides[1]]
        y += np.einsum("nchw,oc->nohw", shifted, w[:, :, ky, kx])
    y += b[:, None, None]
    y += inputs.get("residual", np.zeros(1))
    return 1 / (1 + np.exp(-y)) if layer.activation else y


@pytest.mark.parametrize("name", LAYERS)
def test_taps_outside_of_the_image_count_nothing_with_every_instruction_set(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = LAYERS[name]
    program, inputs = program_of(layer)
    want = expected(layer, program, inputs)
    tolerance = 1e-6 * np.sqrt(layer.c_in * np.prod(layer.kernel)) * np.abs(want).max()
    for isa in some(Target.host().isas):
        monkeypatch.setenv("TRIMTAB_ISA", isa)
        for threads in (1, 3):
            session = trimtab.Session(program, threads, FORCED)
            assert "conv_dilated" in {op.type for op in session.program.ops}
            (actual,) = session.run(inputs).values()
            np.testing.assert_allclose(actual, want, rtol=0, atol=tolerance)


@pytest.mark.parametrize("size", [(3, 4), (61, 47)])
def test_a_plan_for_few_taps_is_right_where_more_are_inside(size: tuple[int, int]) -> None:
    layer = LAYERS["one tap"]
    program, _ = program_of(layer)
    executor = engine().Executor(modelfile.encode(trimtab.optimize(program, plan=FORCED)), 2)
    other = replace(layer, h=size[0], w=size[1])
    of_other, inputs = program_of(other)
    executor.resize_input(0, list(inputs["x"].shape))
    (actual,) = run_arrays(executor, [inputs["x"]])
    want = expected(other, of_other, inputs)
    np.testing.assert_allclose(actual, want, rtol=0, atol=1e-4)


PHASES = {
    "phases of one pixel": Layer(16, 35, 4, 5, (4, 4)),
    "fewer pixels than phases": Layer(17, 16, 3, 8, (5, 5), n=2),
    "phases of different sizes": Layer(20, 33, 13, 17, (4, 4), n=3, residual=True),
    "tiles beyond a phase": Layer(16, 16, 22, 23, (3, 3), activation="sigmoid", residual=True),
    "pads at one side": Layer(16, 18, 20, 21, (2, 2), pads=(4, 0, 0, 3)),
    "kernel 5x5": Layer(18, 20, 19, 20, (2, 2), kernel=(5, 5)),
}


@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.parametrize("name", PHASES)
def test_phases_are_computed_in_tiles_with_every_instruction_set(
    name: str, tile: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = PHASES[name]
    program, inputs = program_of(layer)
    want = expected(layer, program, inputs)
    for isa in some(Target.host().isas):
        monkeypatch.setenv("TRIMTAB_ISA", isa)
        for threads in (1, 3):
            session = trimtab.Session(program, threads, Plan(algorithms=(f"winograd_{tile}",)))
            assert "conv_winograd" in {op.type for op in session.program.ops}
            (actual,) = session.run(inputs).values()
            tolerance = 1e-5 * max(np.abs(want).max(), 1)
            np.testing.assert_allclose(actual, want, rtol=0, atol=tolerance)


@pytest.mark.parametrize("size", [(2, 3), (40, 29)])
def test_phases_follow_the_size_of_the_image(size: tuple[int, int]) -> None:
    layer = PHASES["phases of one pixel"]
    program, _ = program_of(layer)
    planned = trimtab.optimize(program, plan=Plan(algorithms=("winograd_4",)))
    executor = engine().Executor(modelfile.encode(planned), 2)
    other = replace(layer, h=size[0], w=size[1])
    of_other, inputs = program_of(other)
    executor.resize_input(0, list(inputs["x"].shape))
    (actual,) = run_arrays(executor, [inputs["x"]])
    want = expected(other, of_other, inputs)
    np.testing.assert_allclose(actual, want, rtol=0, atol=1e-5 * np.abs(want).max())


def test_the_planner_counts_the_taps_that_tiles_compute() -> None:
    def taps(layer: Layer, mr: int) -> float:
        program, _ = program_of(layer)
        return dilated.computed_taps(program, program.ops[0], mr)

    assert taps(LAYERS["one tap"], 8) == 1
    assert taps(Layer(3, 4, 64, 64, (1, 1)), 1) > 8.7
    # 28x28 pixels in tiles of half a line: of 20 lines 2 taps each, of the outer ones 5.
    assert taps(Layer(3, 4, 28, 28, (24, 24)), 14) == (20 * 2 + 8 * 5) / 28


def test_large_dilations_on_small_maps_are_planned_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    program, _ = program_of(Layer(64, 64, 28, 28, (24, 24)))
    assert "conv_dilated" in {op.type for op in trimtab.optimize(program).ops}
    program, _ = program_of(Layer(64, 64, 28, 28, (2, 2)))
    assert "conv_dilated" not in {op.type for op in trimtab.optimize(program).ops}
