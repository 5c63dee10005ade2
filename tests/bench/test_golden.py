"""The limits of right outputs, by precision; and runs whose outputs are beyond them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.bench.fakes import make_golden, make_subject
from tests.ops.cases.case import Array
from trimtab.bench.golden import (
    HALF_COSINE,
    HALF_FACTOR,
    HALF_TOLERANCE,
    WEAKEST_COSINE,
    Golden,
    RoundingLoss,
    check,
    compare,
)
from trimtab.bench.jobs import Settings
from trimtab.bench.protocol import RunOutcome, measure
from trimtab.devices import find_device
from trimtab.errors import WrongOutputError
from trimtab.reports.configurations import configuration_of
from trimtab.reports.formats import junit
from trimtab.reports.run_tables import of_run
from trimtab.results import records
from trimtab.results.records import Status
from trimtab.results.summary import summarize

WANT = np.random.default_rng(4).normal(0, 1, 1000).astype(np.float32)
SETTINGS = Settings(launches=2, runs=6, min_time_ms=0)


def half(*rounding: RoundingLoss) -> Golden:
    golden = Golden([], [WANT], ["y"], "numpy").within("f16")
    return replace(golden, rounding=rounding)


def off_by(share: float) -> bytes:
    """The outputs with an error of this share of the largest one in the first element."""
    outputs = WANT.copy()
    outputs[0] += share * np.abs(WANT).max()
    return outputs.tobytes()


def test_without_a_simulation_f16_may_cost_what_50_layers_cost() -> None:
    bound = half().bound(0)
    assert (bound.max_error, bound.cosine) == (HALF_TOLERANCE, HALF_COSINE)
    assert "50 layers" in bound.rule


def test_a_network_that_amplifies_rounding_may_be_off_by_a_multiple_of_its_simulation() -> None:
    golden = half(RoundingLoss(0.0139, 0.99978))
    bound = golden.bound(0)
    assert bound.max_error == pytest.approx(HALF_FACTOR * 0.0139)
    assert bound.cosine == pytest.approx(1 - HALF_FACTOR**2 * (1 - 0.99978))
    check(golden, 0, off_by(0.9 * bound.max_error))
    with pytest.raises(WrongOutputError, match=r"simulated rounding \(largest error 0\.014"):
        check(golden, 0, off_by(1.1 * bound.max_error))


def test_the_bound_of_an_accurate_network_is_not_below_that_of_50_layers() -> None:
    bound = half(RoundingLoss(1e-5, 1.0)).bound(0)
    assert (bound.max_error, bound.cosine) == (HALF_TOLERANCE, HALF_COSINE)


def test_no_simulation_excuses_an_output_that_has_nothing_in_common_with_its_reference() -> None:
    golden = half(RoundingLoss(0.9, 0.3))
    assert golden.bound(0).cosine == WEAKEST_COSINE
    with pytest.raises(WrongOutputError, match="cosine"):
        check(golden, 0, np.roll(WANT, 1).tobytes())


def test_a_quantized_output_may_be_off_by_what_other_roundings_cost_it_here() -> None:
    exact = Golden([], [WANT], ["y"], "numpy", scales=[1e-3])
    loss = RoundingLoss(0.01, 0.9998)
    outputs = WANT + np.random.default_rng(0).choice([-1, 1], WANT.size).astype(np.float32) * (
        0.02 * np.abs(WANT).max()
    )
    with pytest.raises(WrongOutputError, match="2 steps of its last scale in 1%"):
        check(exact, 0, outputs.tobytes())
    assert check(replace(exact, rounding=[loss]), 0, outputs.tobytes()).wrong == ""
    for golden in (
        replace(exact, rounding=[RoundingLoss(0.0, 1.0)]),  # both programs are equal here
        replace(exact, rounding=[RoundingLoss(0.0049, 0.9998)]),
        replace(exact, rounding=[RoundingLoss(0.01, 0.999999)]),
        replace(exact, scales=[0.0], rounding=[loss]),
    ):
        assert compare(golden, 0, outputs.tobytes()).wrong


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_value_that_is_not_finite_is_wrong_in_every_precision(value: float) -> None:
    outputs = WANT.copy()
    outputs[7] = value
    for golden in (half(), half(RoundingLoss(0.5, 0.5)), replace(half(), precision="f32")):
        agreement = compare(golden, 0, outputs.tobytes())
        assert agreement.wrong
        assert (agreement.at, agreement.max_error, agreement.cosine) == (7, math.inf, 0.0)


def test_values_that_are_not_finite_in_both_agree_and_the_others_are_compared() -> None:
    want: Array = WANT.copy()
    want[:3] = math.nan, math.inf, -math.inf
    golden = Golden([], [want], ["y"], "numpy").within("f16")
    agreement = check(golden, 0, want.tobytes())
    assert agreement.max_error == 0.0
    assert agreement.cosine == pytest.approx(1.0)
    turned = want.copy()
    turned[3:] = np.roll(want[3:], 1)
    assert compare(golden, 0, turned.tobytes()).cosine < 0.5


def run(folder: Path, golden: Golden, settings: Settings = SETTINGS) -> RunOutcome:
    """Measures a binary that triples its inputs, instead of doubling them."""
    folder.mkdir()
    subject = make_subject(folder, "scale = 3.0")
    with find_device("local").open() as device:
        return measure(device, subject, golden, settings, folder / "results")


def test_an_inaccurate_f16_run_has_latency_size_and_a_mark_everywhere(tmp_path: Path) -> None:
    outcome = run(tmp_path / "f16", make_golden().within("f16"))
    assert outcome.error is None
    assert "element 7 is 21" in outcome.wrong
    record = records.read(outcome.path)
    assert record.status is Status.INACCURATE
    assert record.status.is_measured
    assert len(record.of("run")) == 6
    (event,) = record.of("golden")
    (output,) = event["outputs"]
    assert output["bound"]["max_error"] == HALF_TOLERANCE
    assert "50 layers" in output["bound"]["rule"]
    assert output["wrong"] in record.message
    summary = summarize(record)
    assert summary.figure("latency")
    assert summary.figure("shipped_bytes")
    assert configuration_of(summary)
    assert "INACCURATE" in "\n".join(table.text() for table in of_run(summary))
    text = junit.run(summary)
    assert text.count("<failure") == 1
    assert "element 7 is 21" in text


def test_a_wrong_float32_output_gets_no_latency_unless_it_is_accepted(tmp_path: Path) -> None:
    refused = run(tmp_path / "refused", make_golden())
    assert isinstance(refused.error, WrongOutputError)
    assert "--accept-wrong" in refused.error.hint
    record = records.read(refused.path)
    assert record.status is Status.FAILED
    assert record.of("run") == []
    assert record.of("golden")[0]["outputs"][0]["wrong"]
    accepted = run(tmp_path / "accepted", make_golden(), replace(SETTINGS, accept_wrong=True))
    assert records.read(accepted.path).status is Status.INACCURATE


def test_an_output_of_nan_is_recorded_as_json(tmp_path: Path) -> None:
    folder = tmp_path / "nan"
    folder.mkdir()
    subject = make_subject(folder, "scale = float('nan')")
    golden = make_golden().within("f16")
    with find_device("local").open() as device:
        outcome = measure(device, subject, golden, SETTINGS, folder / "results")

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    for line in outcome.path.read_text().splitlines():
        json.loads(line, parse_constant=refuse)
    record = records.read(outcome.path)
    assert record.status is Status.INACCURATE
    assert "not finite" in summarize(record).golden
