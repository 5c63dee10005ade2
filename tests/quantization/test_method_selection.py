"""The default choice of the calibration method."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.cases.case import Array
from trimtab import passes, quantization
from trimtab.errors import UsageError
from trimtab.program import Program
from trimtab.progress import Silent
from trimtab.quantization import insert_qdq
from trimtab.quantization.calibration import Observed, calibrate, observe
from trimtab.quantization.method_selection import CANDIDATES, mean_noise, select_method
from trimtab.quantization.methods import check, method, methods
from trimtab.quantization.ranges import Ranges
from trimtab.session import Session

RNG = np.random.default_rng(21)


class Told(Silent):
    """The recorded notes."""

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


def samples(tail: float) -> quantization.Samples:
    """Noise, of which one value in a hundred is so much larger."""
    noise = RNG.normal(0, 1, (20, 3, 12, 12))
    noise[RNG.random(noise.shape) < 0.01] *= tail
    calibration_samples = {"x": noise.astype(np.float32)}
    return quantization.samples.of_arrays(calibration_samples, {"x": ((1, 3, 12, 12), "float32")})


def of_half(observed: Observed, name: str, half: int) -> Ranges:
    """The ranges of a calibration method for one half of the samples."""
    result = {t: method(name).range_of(place) for t, place in observed.halves[half].items()}
    whole = observed.ranges("min_max")
    return Ranges("net", name, 8, result, whole.means, whole.factors)


def share(
    program: Program, observed: Observed, name: str, halves: tuple[int, ...] = (0, 1)
) -> float:
    """The error with the ranges of these halves, each on the other half, from its definition."""
    exact = Session(program)
    twins = [
        Session(insert_qdq.quantized(program, of_half(observed, name, half))) for half in (0, 1)
    ]
    feeds = [*observed.samples]
    middle = len(feeds) // 2
    losses = []
    for output in program.outputs:
        each = []
        for i, feed in enumerate(feeds):
            a = exact.run(feed)[output].astype(np.float64)
            half = 0 if i >= middle else 1
            if half in halves:
                b = twins[half].run(feed)[output]
                each.append(((a - b) ** 2).mean() / a.var())
        losses.append(np.mean(each))
    return float(np.prod(losses) ** (1 / len(losses)))


def test_errors_are_averaged_over_samples_and_geometrically_over_outputs() -> None:
    a: list[dict[str, Array]] = [{"y": np.array([10.0, 12.0]), "z": np.zeros(2)}]
    assert mean_noise(a, [{"y": np.array([10.0, 11.0]), "z": np.zeros(2)}]) == pytest.approx(0.5)
    a = [{"y": np.array([v, -v]), "z": np.array([0.0, v])} for v in (1.0, -100.0)]
    b = [{"y": a[0]["y"] * 0.9, "z": a[0]["z"] * 0.999}, {"y": a[1]["y"], "z": a[1]["z"]}]
    # Errors of z are 1e-3 beside deviations of 1/2 and 1/2.
    assert mean_noise(a, b) == pytest.approx(np.sqrt(1e-2 / 2 * (1e-6 / 0.5) / 2))
    assert mean_noise(a, a) < 1e-9


def test_the_error_of_a_scalar_output_is_relative_to_other_samples() -> None:
    a: list[dict[str, Array]] = [{"y": np.array([[v]])} for v in (1.0, 2.0, 3.0)]
    b: list[dict[str, Array]] = [{"y": np.array([[v]])} for v in (1.0, 2.5, 3.0)]
    assert mean_noise(a, b) == pytest.approx(0.25 / 2)


@pytest.mark.parametrize("tail", [1.0, 30.0])
def test_the_better_of_two_finalists_has_the_smaller_cross_validated_error(
    tail: float,
) -> None:
    program, calibration_samples, recorder = network(), samples(tail), Told()
    simple = passes.simplify(program, before="fuse_residual")
    ranges, _ = calibrate(simple, calibration_samples.calibrating, progress=recorder)
    observed = observe(simple, calibration_samples.calibrating)
    first = {name: share(simple, observed, name, (0,)) for name in CANDIDATES}
    equal = {error: name for name, error in reversed(first.items())}
    finalists = [equal[error] for error in sorted(equal)[:2]]
    shares = {name: share(simple, observed, name) for name in finalists}
    assert ranges.method == min(shares, key=shares.__getitem__)
    assert ranges.ranges == observed.ranges(ranges.method).ranges
    (note,) = recorder.notes
    assert ranges.method in note
    both, one = note.split("; on one half ")
    assert all(f"{name} {share:.2e}" in both for name, share in shares.items())
    assert all(f"{name} {first[name]:.2e}" in one for name in equal.values())


def test_observers_of_the_halves_cover_their_samples() -> None:
    program, calibration_samples = network(), samples(30.0)
    observed = observe(passes.simplify(program, before="fuse_residual"), calibration_samples)
    x = np.concatenate([feed["x"] for feed in calibration_samples])
    for observer, part in zip(observed.halves, (x[:10], x[10:]), strict=True):
        assert observer["x"].whole == quantization.Range(float(part.min()), float(part.max()))
        assert len(observer["x"].extremes) == 10
        assert observer["x"].histogram[0].sum() == part.size
    whole = observed.halves[0]["x"].merged(observed.halves[1]["x"])
    assert whole.histogram[0].sum() == x.size
    assert whole.whole == quantization.Range(float(x.min()), float(x.max()))


def test_overfitted_ranges_are_not_the_best() -> None:
    program = network()
    noise = RNG.uniform(-1, 1, (8, 3, 12, 12)).astype(np.float32)
    noise[4:] *= 8  # the second half reaches further
    calibration_samples = quantization.samples.of_arrays(
        {"x": noise}, {"x": ((1, 3, 12, 12), "float32")}
    )

    def ranges(name: str, half: int) -> Ranges:
        fits = name != "min_max" and half == 0
        reach = 1.0 if fits else 8.0
        result = dict.fromkeys(("a", "b"), quantization.Range(-40, 40))
        return Ranges("net", name, 4, {"x": quantization.Range(-reach, reach), **result})

    expected = [Session(program).run(feed) for feed in calibration_samples]
    assert select_method(program, expected, calibration_samples, ranges) == "min_max"


@pytest.mark.parametrize("count", [1, 20])
def test_the_first_method_wins_ties_and_single_samples(count: int) -> None:
    result = {name: quantization.Range(-9, 9) for name in ("x", "a", "b")}
    program, calibration_samples = network(), quantization.Samples(count, samples(1.0).feed)
    expected = [Session(program).run(feed) for feed in calibration_samples]

    def ranges(name: str, _: int) -> Ranges:
        return Ranges("net", name, 1, result)

    assert select_method(program, expected, calibration_samples, ranges) == CANDIDATES[0]


def test_one_sample_is_enough() -> None:
    program, calibration_samples = network(), quantization.Samples(1, samples(1.0).feed)
    ranges, _ = calibrate(passes.simplify(program, before="fuse_residual"), calibration_samples)
    assert ranges.ranges["x"] == quantization.Range(
        *(float(f(calibration_samples.feed(0)["x"])) for f in (np.min, np.max))
    )


def test_every_candidate_method_exists_and_best_is_a_name() -> None:
    assert set(CANDIDATES) <= set(methods())
    check("best")
    with pytest.raises(UsageError, match="unknown calibration method 'guess'"):
        check("guess")
