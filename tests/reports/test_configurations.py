"""Measured configurations, and which of them are best."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from tests.bench.fakes import write_record
from trimtab.accuracy import Accuracy, Search
from trimtab.reports import configurations
from trimtab.results import records, summary
from trimtab.results.records import Status
from trimtab.results.summary import Summary


def test_cells_of_other_input_shapes_are_other_networks_and_a_commit_replaces_the_one_before(
    tmp_path: Path,
) -> None:
    def of_cell(ns: int, size: int, shape: str) -> Summary:
        path = write_record(tmp_path, samples=[ns] * 3, binary_bytes=size)
        run = summary.summarize(records.read(path))
        sweep = {"configuration": {"model": "net", "input": f"x={shape}", "precision": "f32"}}
        header = dataclasses.replace(run.header, protocol={**run.header.protocol, "sweep": sweep})
        return dataclasses.replace(run, header=header)

    old, small = of_cell(100, 5000, "1,3,8,8"), of_cell(110, 5200, "1,3,8,8")
    large = of_cell(400, 5300, "1,3,32,32")
    measured = configurations.configurations_of([old, small, large])
    assert [one.run_id for one in measured] == [small.header.run_id, large.header.run_id]
    assert [one.facts["model"] for one in measured] == ["net x=1,3,8,8", "net x=1,3,32,32"]
    assert configurations.pareto_front(measured) == measured


def test_what_nobody_should_ship_is_never_best_and_says_so(tmp_path: Path) -> None:
    def measured_run(ns: int, **changes: object) -> Summary:
        run = summary.summarize(records.read(write_record(tmp_path, samples=[ns] * 3)))
        return dataclasses.replace(run, **changes)  # type: ignore[arg-type]

    bad = Accuracy(100, 0.8, 0.3, 0.7, top1=0.24)
    runs = [
        measured_run(400),
        measured_run(100, accuracy=bad),
        measured_run(90, status=Status.INACCURATE, message="the output y is beyond its bound"),
        measured_run(200, accuracy=dataclasses.replace(bad, top1=0.995, cosine=0.9999)),
    ]
    sizes = [5000, 4000, 3000, 4500]
    measured = [
        dataclasses.replace(one, shipped_bytes=size)
        for run, size in zip(runs, sizes, strict=True)
        if (one := configurations.configuration_of(run))
    ]
    assert [one.flaw.partition(":")[0] for one in measured] == [
        "",
        "has the top-1 of float32 in 24.0% of samples",
        "the output y is beyond its bound",
        "",
    ]
    assert configurations.pareto_front(measured) == [measured[3]]
    (network, fastest), *rest = configurations.overview(measured).rows
    assert not rest
    assert network == measured[0].facts["model"]
    assert fastest == "200 ns, 0.0045 MB", "the fastest one without a flaw"
    marks = [row[0] for row in configurations.table(measured).rows]
    assert marks == ["", "inaccurate", "inaccurate", "best"]
    for i, one in enumerate(measured):
        facts = {**one.facts, "precision": ["f32", "int8"][i % 2], "threads": "21"[i % 2]}
        measured[i] = dataclasses.replace(one, facts=facts)
    ((_, fastest),) = configurations.overview(measured).rows
    assert fastest == "200 ns, 0.0045 MB, int8, threads: 1"


def test_an_accuracy_within_the_budget_of_its_search_is_no_flaw(tmp_path: Path) -> None:
    run = summary.summarize(records.read(write_record(tmp_path, samples=[100] * 3)))
    accuracy = Accuracy(100, 0.8, 0.3, 0.999, top1=0.97)
    search = Search("top1 >= 95 %", "pi4", (), 0, ())
    for of_run, is_flawed in ((None, True), (search, False)):
        one = configurations.configuration_of(
            dataclasses.replace(run, accuracy=accuracy, search=of_run)
        )
        assert one is not None
        assert bool(one.flaw) is is_flawed
