"""The data of charts."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from tests.reports.test_formats import charts_of, one
from trimtab import reports


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
