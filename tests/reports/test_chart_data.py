"""The data of charts, and what is too little for one."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from tests.bench.fakes import write_record
from tests.reports.test_formats import charts_of, one
from tests.test_accuracy import SEARCH
from trimtab import reports
from trimtab.results import records, summary


def test_constants_and_what_dequantizes_them_are_part_of_their_reader(tmp_path: Path) -> None:
    before = [
        {"label": "dequantize_linear w", "reads": [], "becomes": None, "prepares": True},
        {"label": "quantize_linear x", "reads": [], "becomes": 0, "prepares": False},
        {"label": "conv c", "reads": [0, 1], "becomes": 1, "prepares": False},
    ]
    facts = {"macs": 9, "weights_bytes": 4, "moved_bytes": 40}
    operators = [
        {"label": "quantize_linear x", "reads": [], **facts},
        {"label": "conv c", "reads": [0], **facts},
    ]
    network = {"operators": operators, "memory": [], "before": before}
    run = dataclasses.replace(one(tmp_path), network=network)
    drawn = charts_of(reports.find("html").run(run))["graph"]["data"]["graphs"][0]
    assert drawn["title"] == "before: 2 operators"
    assert [op["reads"] for op in drawn["operators"]] == [[], [0]]
    assert drawn["operators"][1]["text"].startswith("conv c")


def test_one_point_is_no_chart(tmp_path: Path) -> None:
    plain = summary.summarize(records.read(write_record(tmp_path, samples=[100_000])))
    search = dataclasses.replace(SEARCH, candidates=SEARCH.candidates[:1], chosen=0)
    small = {
        "operators": [
            {"label": "conv 1", "macs": 9, "weights_bytes": 4, "moved_bytes": 4, "reads": []}
        ],
        "memory": [{"name": "a", "bytes": 40, "first": 0, "last": 1}],
    }
    run = dataclasses.replace(plain, ops=plain.ops[:1], search=search, network=small)
    run = dataclasses.replace(run, header=dataclasses.replace(run.header, is_model_embedded=True))
    assert '<section class="chart"' not in reports.find("html").run(run)
    assert "█" not in reports.find("terminal").run(run)
    page = reports.find_overview("html").cells([plain])
    assert '<section class="chart"' not in page
    assert "100 µs" in page
    assert "1 configuration<" in page
    cells = reports.find_overview("terminal").cells([plain])
    assert "└" not in cells
    assert "beats" not in cells  # there is no other run
