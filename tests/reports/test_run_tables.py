"""The tables of a run."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from tests.reports.test_formats import one
from trimtab.compare.side_by_side import Comparison
from trimtab.reports import run_tables
from trimtab.results.counters import OperatorCounters


def test_hardware_events_are_those_of_the_inference_and_its_most_expensive_operators(
    tmp_path: Path,
) -> None:
    def counted(label: str, cycles: float) -> OperatorCounters:
        return OperatorCounters(label, {"cycles": cycles}, 1.0, None, None, None, "")

    whole = counted("the inference", 9000.0)
    ops = [counted(f"op{i:02}", 100.0 + i) for i in range(run_tables.TOP + 5)]
    run = dataclasses.replace(one(tmp_path), hardware=(whole, *ops))
    (table,) = (t for t in run_tables.of_run(run) if t.title == "By hardware events")
    most = [f"op{i:02}" for i in reversed(range(5, run_tables.TOP + 5))]
    assert [row[0] for row in table.rows] == ["the inference", *most]


def test_the_setup_names_the_run_and_what_its_cell_of_a_sweep_chose(tmp_path: Path) -> None:
    def setup(protocol: dict[str, object]) -> dict[str, str]:
        header = dataclasses.replace(run.header, protocol={**run.header.protocol, **protocol})
        tables = run_tables.of_run(dataclasses.replace(run, header=header))
        return {name: value for t in tables if t.title == "Setup" for name, value in t.rows}

    run = one(tmp_path)
    assert setup({})["run"] == run.header.run_id
    assert "cell" not in setup({})
    chosen = {"model": "net.onnx", "device": "pi4", "precision": "int8", "plan": "fast.toml"}
    shown = setup({"sweep": {"configuration": chosen}})
    assert (shown["cell"], shown["precision"]) == ("plan fast.toml", "int8")
    assert "weights" not in shown


def test_runs_are_called_by_what_was_chosen_for_them(tmp_path: Path) -> None:
    def labels(*runs: dict[str, object]) -> list[str]:
        summaries = [
            dataclasses.replace(run, header=dataclasses.replace(run.header, **changes))  # type: ignore[arg-type]
            for changes in runs
        ]
        return run_tables.run_labels(Comparison(tuple(summaries), (), ()))

    def choices(**chosen: str) -> dict[str, object]:
        default = {"precision": "f32", "weights": "f32", "prefer": "balanced", "accuracy": "fast"}
        return {"made_from": {"choices": default | chosen}}

    run = one(tmp_path)
    assert labels(choices(), choices(precision="int8")) == ["f32", "int8"]
    small = choices(weights="f16", prefer="size")
    assert labels(choices(), small) == ["f32 weights prefer balanced", "f16 weights prefer size"]
    assert labels({"protocol": {"threads": 1}}, {"protocol": {"threads": 2}}) == [
        "1 thread",
        "2 threads",
    ]
    assert labels({"cpu": "cortex-a53"}, {"cpu": "cortex-a72"}) == ["cortex-a53", "cortex-a72"]
    assert labels(choices(), {}) == [
        "f32 f32 weights prefer balanced accuracy fast",
        "unknown unknown weights prefer unknown accuracy unknown",
    ]
    assert labels(choices(), choices()) == ["A", "B"]
