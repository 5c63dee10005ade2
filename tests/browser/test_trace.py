"""A trace in speedscope, a reader of that format that is not ours, in a browser."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path

import pytest

from tests.bench.fakes import write_record
from tests.browser import chromium
from trimtab import paths, reports
from trimtab.results import records, summary

READER = paths.cache() / "speedscope" / "package" / "dist" / "release" / "index.html"


def test_speedscope_reads_every_launch_of_a_trace(tmp_path: Path) -> None:
    program = chromium.program()
    if not READER.is_file():
        folder = READER.parents[3]
        pytest.skip(f"no speedscope: in {folder}, npm pack speedscope && tar xzf speedscope-*.tgz")
    # Times that no binary fraction has, so that rounding would show.
    path = write_record(tmp_path, samples=[100_003 + 7 * i for i in range(50)], launches=3)
    trace = reports.find("trace").run(summary.summarize(records.read(path)))
    packed = base64.b64encode(trace.encode()).decode()
    script = tmp_path / "trace.js"
    script.write_text(f"speedscope.loadFileFromBase64({json.dumps('net.json')}, '{packed}')")
    with chromium.page(program, tmp_path / "profile") as page:
        page.open(f"{READER.as_uri()}#localProfilePath={script}")
        end = time.monotonic() + 30
        while "net.json" not in page.run("document.title"):
            assert time.monotonic() < end, page.run("document.body.innerText")
            time.sleep(0.2)
        shown = page.run("document.body.innerText")
        assert "net: tiny on pi4 (pid 1), inferences by operator" in shown
        assert "(1/4)" in shown  # threads: operators, and a launch each
        errors = [error for error in page.errors if "WebGL" not in error]
        assert errors == []  # it tells of spans that end out of order
