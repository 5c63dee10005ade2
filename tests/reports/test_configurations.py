"""Measured configurations, and which of them are best."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from tests.bench.fakes import write_record
from trimtab.reports import configurations
from trimtab.results import records, summary
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
