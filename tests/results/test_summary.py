"""The figures of a record."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.bench.fakes import write_record
from trimtab.results import records
from trimtab.results.summary import summarize


@pytest.mark.parametrize("uncounted", [set(), {4}, {0, 1, 2}, {0, 1, 2, 3, 4, 5}])
def test_a_count_that_some_inferences_lack_is_no_figure(
    uncounted: set[int], tmp_path: Path
) -> None:
    record = records.read(write_record(tmp_path, launches=2, instructions=70))
    inferences = [event for event in record.events if event["event"] == "run"]
    assert len(inferences) == 6
    for i in uncounted:
        inferences[i]["instructions"] = None
    figure = summarize(dataclasses.replace(record)).figure("latency_instructions")
    assert (figure.launches if figure else None) == (
        None if uncounted else ((70, 70, 70), (70, 70, 70))
    )
