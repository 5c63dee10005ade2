"""Which method ranges are by, where none was asked for."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.cases.case import Array
from trimtab import passes, quantise
from trimtab.errors import UsageError
from trimtab.program import Program
from trimtab.progress import Silent
from trimtab.quantise import rewrite
from trimtab.quantise.best import TRIED, best, loss
from trimtab.quantise.calibrate import calibrate, watch
from trimtab.quantise.methods import check, methods
from trimtab.session import Session

RNG = np.random.default_rng(21)


class Told(Silent):
    """What was said."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def network() -> Program:
    """Two outputs of different units, behind a function."""
    program = Program("net")
    block = program.block

    def conv(x: str, name: str, factor: float) -> str:
        weights = RNG.normal(0, factor, (6, program.vars[x].shape[1], 3, 3)).astype(np.float32)
        return block.add_op("conv", [x, block.add_constant(weights)], None, [name])[0]

    x = program.add_input("x", (1, 3, 12, 12))
    (y,) = block.add_op("leaky_relu", [conv(x, "a", 0.3)], {"alpha": 0.1}, ["b"])
    program.outputs = [conv(y, "scores", 0.2), conv(y, "boxes", 30.0)]
    return program


def samples(tail: float) -> quantise.Samples:
    """Noise, of which one value in a hundred is so much larger."""
    noise = RNG.normal(0, 1, (20, 3, 12, 12))
    noise[RNG.random(noise.shape) < 0.01] *= tail
    given = {"x": noise.astype(np.float32)}
    return quantise.samples.of_arrays(given, {"x": ((1, 3, 12, 12), "float32")})


def share(program: Program, ranges: quantise.Ranges, given: quantise.Samples) -> float:
    """What is lost, from its definition."""
    exact, twin = Session(program), Session(rewrite.quantised(program, ranges))
    lost = []
    for name in program.outputs:
        a, b = (np.array([s.run(feed)[name] for feed in given], np.float64) for s in (exact, twin))
        lost.append(((a - b) ** 2).mean() / a.var())
    return float(np.prod(lost) ** (1 / len(lost)))


def test_energies_of_errors_are_shares_and_their_mean_is_geometric() -> None:
    a: list[dict[str, Array]] = [{"y": np.array([10.0, 12.0]), "z": np.zeros(2)}]
    assert loss(a, [{"y": np.array([10.0, 11.0]), "z": np.zeros(2)}]) == pytest.approx(0.5)
    a = [{"y": np.array([v, -v]), "z": np.array([v, v])} for v in (1.0, -1.0)]
    b = [{"y": one["y"] * 0.9, "z": one["z"] * 0.999} for one in a]
    assert loss(a, b) == pytest.approx(np.sqrt(1e-2 * 1e-6))
    assert loss(a, a) < 1e-9


@pytest.mark.parametrize("tail", [1.0, 30.0])
def test_the_method_is_one_that_loses_least_on_the_samples_that_ranges_are_of(
    tail: float,
) -> None:
    program, given, told = network(), samples(tail), Told()
    simple = passes.simplify(program, before="fuse_residual")
    ranges, _ = calibrate(simple, given.calibrating, progress=told)
    watched = watch(simple, given.calibrating)
    shares = {name: share(simple, watched.ranges(name), given.calibrating) for name in TRIED}
    alike = [name for name in TRIED if shares[name] <= min(shares.values()) / 0.9]
    assert ranges.method == alike[0]
    assert ranges.ranges == watched.ranges(ranges.method).ranges
    (said,) = told.notes
    assert ranges.method in said
    assert all(f"{name} {share:.2e}" in said for name, share in shares.items())


def test_the_first_of_equals_is_taken() -> None:
    program, given = network(), samples(1.0)
    found = quantise.Ranges(
        "net", "first", 1, {name: quantise.Range(-9, 9) for name in ("x", "a", "b")}
    )
    same = quantise.Ranges("net", "second", 1, found.ranges)
    assert best(program, given, [found, same]).method == "first"


def test_every_method_that_is_tried_is_there_and_best_is_a_name() -> None:
    assert set(TRIED) <= set(methods())
    check("best")
    with pytest.raises(UsageError, match="unknown method of calibration 'guess'"):
        check("guess")
