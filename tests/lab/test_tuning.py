"""The list of networks to tune, and the summary of the rules that lose."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.tuning import measure
from trimtab import zoo


def test_the_list_holds_the_zoo_and_every_model_of_the_folders(tmp_path: Path) -> None:
    models = tmp_path / "models" / "deep"
    models.mkdir(parents=True)
    for name in ("b.onnx", "a.onnx", "c.txt"):
        (models / name).touch()
    path = tmp_path / "networks.txt"
    measure.write_list(path, [tmp_path / "models"])
    networks = measure.read_list(path)
    assert networks == [*sorted(zoo.names()), str(models / "a.onnx"), str(models / "b.onnx")]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("conv, gemm_a, panels 4", "conv, gemm_b, panels 4", ("gemm_a", "gemm_b")),
        ("conv, gemm_a, panels 4", "conv, gemm_a, panels 8", ("block size", "panels x 2")),
        ("conv, gemm_a, gap 0", "conv, gemm_a, gap 16", ("block size", "gap 16")),
        (
            "conv, gemm_a, panels 4; conv_depthwise, dw, rows 2",
            "conv_separable, dw, rows 2",
            ("conv + conv_depthwise + gemm_a", "conv_separable"),
        ),
    ],
)
def test_a_rule_is_named_by_what_differs(before: str, after: str, words: tuple[str, str]) -> None:
    assert measure.decisions(before, after) == words


def test_the_page_sums_up_networks_and_rules() -> None:
    change = {"layer": "conv", "before": "conv, a", "after": "conv, b", "share": 0.5, "ratio": 0.8}
    row = {"threads": 1, "isa": "", "interval": [0.8, 0.9], "changes": [change]}
    rows = [
        {**row, "network": "one", "ratio": 0.81},
        {**row, "network": "two", "ratio": 1.0},
        {"network": "three", "threads": 1, "isa": "", "error": "no such file"},
    ]
    table, summary, rules, failure = measure.page(rows)
    assert not isinstance(table, str)
    assert [line["network"] for line in table.records()] == ["one", "two"]
    assert summary == "2 networks, geometric mean 0.900."
    assert not isinstance(rules, str)
    assert rules.rows == [("a", "b", 2, pytest.approx(0.2))]
    assert failure == "three: no such file"


def test_rows_name_networks_without_folders_and_leave_out_what_was_not_measured() -> None:
    figures = {"threads": 1, "isa": "", "ratio": 0.9, "interval": [0.8, 0.95], "is_faster": True}
    network = {"network": "/models/held/one.onnx", "is_complete": True, "changes": [{}, {}]}
    row = measure.TuningRow.of({**figures, **network})
    assert row.record() == {**figures, "network": "one", "is_complete": True, "changes": 2}
    failed = {"network": "two.onnx", "threads": 1, "isa": "", "error": "no such file"}
    assert measure.TuningRow.of(failed).record() == {**failed, "network": "two", "changes": 0}
