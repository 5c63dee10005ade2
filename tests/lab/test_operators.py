"""Single operators beside other engines: the draw, one real peer, and what is left out."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace

import onnx
import pytest

from lab.operators import draw, measure
from lab.operators.measure import Engine, OperatorRow
from trimtab import zoo
from trimtab.errors import MissingRequirementError

needs_peer = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None, reason="no onnxruntime"
)


def drawn(monkeypatch: pytest.MonkeyPatch, count: int, seed: int = 1) -> list[draw.DrawnCase]:
    monkeypatch.setattr(zoo, "names", lambda: ("shufflenet_v2",))
    return draw.draw(count, seed)


def test_a_seed_draws_valid_distinct_models_of_the_zoo_and_of_all_families(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cases = drawn(monkeypatch, 90)
    assert {case.model.graph.input[0].name for case in cases[:45]} != {"x"}
    assert {case.name.split("-")[1] for case in cases[45:]} == {*draw.FAMILIES}
    for case in cases:
        onnx.checker.check_model(case.model, full_check=True)
    models = [case.model.SerializeToString(deterministic=True) for case in cases]
    assert len({*models}) == len(cases)
    again = [c.model.SerializeToString(deterministic=True) for c in drawn(monkeypatch, 90)]
    assert again == models
    assert [case.name for case in drawn(monkeypatch, 90, seed=2)] != [case.name for case in cases]


@needs_peer
def test_a_case_is_timed_beside_a_peer_and_what_fails_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (case,) = (c for c in drawn(monkeypatch, 46) if c.name.endswith("-reduce"))
    broken = replace(case, name="broken", model=onnx.ModelProto())
    broken.model.CopyFrom(case.model)
    broken.model.graph.node[0].op_type = "NoSuchOperator"
    running, versions = measure.engines(sys.executable)
    absent = Engine("openvino", "/nowhere/python")
    try:
        rows, left_out = measure.measure([broken, case], [*running, absent], 1, rounds=2)
    finally:
        for engine in running:
            engine.close()
    assert {"onnxruntime"} <= {*versions}
    (row,) = rows
    assert row.case == case.name
    assert row.error < 1e-5
    assert row.onnxruntime_ms is not None
    assert row.openvino_ms is None
    assert row.ratio == pytest.approx(row.trimtab_ms / row.onnxruntime_ms)
    assert 0 <= row.waited <= 4
    assert [reason.split(":")[0] for reason in left_out] == [
        "broken",
        f"openvino on {case.name}",
    ]


def test_the_verdict_counts_slow_cases_and_says_how_busy_the_machine_was() -> None:
    def row(ms: float, waited: float) -> OperatorRow:
        return OperatorRow("a", "Conv", 1, ms, 2.0, 1.0, waited, 0.0)

    quiet = measure.verdict([row(0.5, 0.0), row(2.0, 0.01)])
    assert quiet == "With 1 thread, the geometric mean of 2 ratios to the better peer is 1.00; " \
        "1 are above 1.1."  # fmt: skip
    busy = measure.verdict([row(0.5, 0.3), row(2.0, 0.01)])
    assert "1 of 2 cases an engine waited for a core" in busy
    assert "30% at most" in busy


def test_peers_that_are_not_installed_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "probe", lambda python: {"trimtab": "1"})
    with pytest.raises(MissingRequirementError, match="no peer is installed"):
        measure.engines(sys.executable)
