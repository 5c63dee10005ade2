"""Cross-layer equalization."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.ops.cases.case import Array
from trimtab.errors import CalibrationError
from trimtab.program import Program
from trimtab.quantization import equalization
from trimtab.quantization.calibration import check
from trimtab.quantization.equalization import ChannelStatistics
from trimtab.quantization.ranges import Ranges
from trimtab.session import Session

RNG = np.random.default_rng(15)
MANY = 10**6  # samples


def network() -> Program:
    """Convolutions of all kinds, with a shortcut, whose channels have unlike ranges."""
    program = Program("net")
    program.add_input("x", (1, 3, 7, 6))
    block = program.block

    def conv(x: str, name: str, shape: tuple[int, ...], group: int = 1) -> str:
        weights = RNG.normal(0, 1, shape) * np.exp(RNG.normal(0, 1, (shape[0], 1, 1, 1)))
        bias = RNG.normal(0, 0.3, shape[0])
        pad = shape[2] // 2
        constants = [block.add_constant(v.astype(np.float32), f"{name}.c") for v in (weights, bias)]
        values = {"group": group, "pads": (pad, pad, pad, pad)}
        return block.add_op("conv", [x, *constants], values, [name], name)[0]

    first = conv("x", "a", (8, 3, 3, 3))
    (bent,) = block.add_op("leaky_relu", [first], {"alpha": 0.1}, ["bent"])
    deep = conv(bent, "b", (8, 1, 3, 3), group=8)
    (unchanged,) = block.add_op("relu", [deep], {}, ["kept"])
    flat = conv(unchanged, "c", (8, 4, 1, 1), group=2)
    again = conv(flat, "d", (8, 8, 1, 1))
    (both,) = block.add_op("add", [flat, again], {}, ["both"])
    program.outputs = [conv(both, "y", (4, 8, 1, 1))]
    return program


def channels(program: Program, x: Array) -> dict[str, ChannelStatistics]:
    watched = program.copy()
    watched.outputs = [name for op in program.ops for name in op.outputs]
    result = {
        name: ChannelStatistics.of(value) for name, value in Session(watched).run({"x": x}).items()
    }
    # As often as makes ends certain.
    return {
        name: ChannelStatistics(MANY, one.below, one.above, MANY * one.sums)
        for name, one in result.items()
    }


def test_an_equalized_program_is_equivalent_and_its_channels_have_similar_ranges() -> None:
    program = network()
    x = RNG.normal(0, 1, (1, 3, 7, 6)).astype(np.float32)
    observer = channels(program, x)
    by = equalization.factors(program, observer)
    assert set(by) == {"a", "bent", "b", "kept", "c", "d", "both"}
    assert by["a"] == by["bent"]
    assert by["c"] == by["d"] == by["both"]
    twin = equalization.equalized(program, by)
    expected, result = (Session(p).run({"x": x})["y"] for p in (program, twin))
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4 * abs(expected).max())
    after = channels(twin, x)
    # A depthwise convolution loses nothing: all channels that it reads reach the same end.
    # What leaky ReLU takes in is not rounded, and counts for nothing.
    bent = after["bent"]
    ends = np.maximum(bent.below / bent.below.max(), bent.above / bent.above.max())
    np.testing.assert_allclose(ends, 1, rtol=1e-4)
    for name, factors in by.items():
        for side in ("below", "above"):
            before, result = (getattr(c[name], side) for c in (observer, after))
            np.testing.assert_allclose(result, before * factors, rtol=1e-3)
    # No channel's range exceeds the longer side of the quantized range.
    for rounded in (("bent",), ("kept",), ("c", "d", "both")):
        longest, longest_now = (
            max(max(c[name].below.max(), c[name].above.max()) for name in rounded)
            for c in (observer, after)
        )
        assert longest_now <= 1.001 * longest


def test_the_shorter_side_of_a_range_is_extended_for_its_channels() -> None:
    """Behind leaky ReLU a channel below 0 has few of the steps, however much it counts."""
    program = Program("net")
    program.add_input("x", (1, 2, 4, 4))
    block = program.block
    w = np.diag([1.0, 1.0]).astype(np.float32)[:, :, None, None]
    (first,) = block.add_op("conv", ["x", block.add_constant(w)], {}, ["first"], "first")
    (bent,) = block.add_op("leaky_relu", [first], {"alpha": 0.1}, ["bent"])
    deep = np.array([0.01, 10.0], np.float32).reshape(2, 1, 1, 1)
    arguments = {"group": 2}
    program.outputs = block.add_op("conv", [bent, block.add_constant(deep)], arguments, ["y"], "y")
    x = np.stack([np.linspace(0, 10, 16), np.linspace(-10, 0, 16)])
    x4 = x.astype(np.float32).reshape(1, 2, 4, 4)
    by = equalization.factors(program, channels(program, x4))
    np.testing.assert_allclose(by["bent"], (1.0, 10.0), rtol=1e-3)
    few = {
        n: ChannelStatistics(8, c.below, c.above, c.sums) for n, c in channels(program, x4).items()
    }
    np.testing.assert_allclose(equalization.factors(program, few)["bent"], (1.0, 5.0), rtol=1e-3)
    deep[:] = deep[::-1]
    program.vars[program.ops[-1].inputs[1]].data = deep
    assert by != equalization.factors(program, channels(program, x4))


def test_an_equalized_program_has_smaller_rounding_errors() -> None:
    """Rounds operands and weights as the model of it says, in numpy."""
    shape = (6, 8, 1, 1)
    program = Program("net")
    program.add_input("x", (1, 2, 20, 20))
    block = program.block
    spread = np.exp(RNG.normal(0, 1.5, (8, 1, 1, 1)))
    weights = [RNG.normal(0, 1, (8, 2, 1, 1)) * spread, RNG.normal(0, 1, shape)]
    names = [block.add_constant(w.astype(np.float32)) for w in weights]
    (middle,) = block.add_op("conv", ["x", names[0]], {}, ["middle"], "middle")
    program.outputs = block.add_op("conv", [middle, names[1]], {}, ["y"], "y")
    x = RNG.normal(0, 1, (1, 2, 20, 20)).astype(np.float32)
    by = equalization.factors(program, channels(program, x))

    def error(program: Program) -> float:
        observer = program.copy()
        observer.outputs = ["middle", "y"]
        expected = Session(observer).run({"x": x})
        reals = expected["middle"][0].reshape(8, -1)
        w = np.asarray(program.vars[program.ops[1].inputs[1]].data).reshape(6, 8)
        step, steps = 2 * abs(reals).max() / 255, abs(w).max(axis=1, keepdims=True) / 127
        y = (np.rint(w / steps) * steps) @ (np.rint(reals / step) * step)
        exact = w @ reals
        return float(np.square(y - exact).mean())

    assert error(equalization.equalized(program, by)) < 0.8 * error(program)


def test_only_tensors_between_convolutions_are_scaled() -> None:
    program = network()
    (group,) = (g for g in equalization.groups(program) if "a" in g.tensors)
    assert sorted(group.tensors) == ["a", "bent"]
    program.block.add_op("sigmoid", ["bent"], {}, ["gate"])
    assert all("a" not in g.tensors for g in equalization.groups(program))
    program.outputs.append("kept")
    assert all("b" not in g.tensors for g in equalization.groups(program))


@pytest.mark.parametrize(
    "change",
    [
        lambda by: by.pop("bent"),
        lambda by: by.update(a=by["a"][:-1], bent=by["a"][:-1]),
        lambda by: by.update(y=(1.0,) * 4),
        lambda by: by.update(absent=(1.0,)),
        lambda by: by.update(a=(2.0,) * 8),
    ],
)
def test_factors_that_would_change_results_are_refused(
    change: Callable[[dict[str, tuple[float, ...]]], object],
) -> None:
    program = network()
    by: dict[str, tuple[float, ...]] = {"a": (1.0,) * 7 + (3.0,), "bent": (1.0,) * 7 + (3.0,)}
    check(program, Ranges("net", "mse", 1, {}, {}, by))
    change(by)
    with pytest.raises(CalibrationError, match=r"do not fit|absent., a tensor"):
        check(program, Ranges("net", "mse", 1, {}, {}, by))
