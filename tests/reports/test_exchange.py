"""Formats of other programs: read by those where there are any, by the letter elsewhere."""

from __future__ import annotations

import csv
import io
import itertools
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.bench.fakes import write_record
from tests.reports.test_formats import FULL, one, two
from trimtab import reports
from trimtab.compare.side_by_side import Comparison
from trimtab.errors import UsageError
from trimtab.results import records, summary
from trimtab.results.records import Status
from trimtab.results.statistics import Interval, Ratio
from trimtab.results.summary import Summary

COMPARE = Path("/usr/share/benchmark/compare.py")


def many(directory: Path, ns: int = 100_000, **options: Any) -> Summary:
    path = write_record(directory, samples=[ns + 10 * i for i in range(5)], launches=9, **options)
    return summary.summarize(records.read(path))


def written(directory: Path, name: str, form: str, run: Summary) -> Path:
    path = directory / name
    path.write_text(reports.find(form).run(run))
    return path


def python_with_scipy() -> str:
    for python in filter(None, (sys.executable, "/usr/bin/python3", shutil.which("python3"))):
        completed = subprocess.run(
            [python, "-c", "import scipy.stats"], capture_output=True, check=False
        )
        if not completed.returncode:
            return python
    pytest.skip("no Python with scipy, which compare.py needs: apt-get install python3-scipy")


def test_compare_py_of_google_benchmark_compares_two_of_ours(tmp_path: Path) -> None:
    if not COMPARE.is_file():
        pytest.skip("no compare.py: apt-get install libbenchmark-tools")
    a = written(tmp_path, "a.json", "google-benchmark", many(tmp_path))
    b = written(tmp_path, "b.json", "google-benchmark", many(tmp_path, 50_000))
    document = tmp_path / "found.json"
    words = ["--no-color", "--dump_to_json", str(document), "benchmarks", str(a), str(b)]
    done = subprocess.run(
        [python_with_scipy(), COMPARE, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    report = {entry["name"]: entry for entry in json.loads(document.read_text())}
    inference = report["net/latency"]
    assert len(inference["measurements"]) == 9  # launches
    assert inference["measurements"][0]["time"] == pytest.approx(-0.5, abs=1e-3)
    assert inference["utest"]["have_optimal_repetitions"]
    assert inference["utest"]["time_pvalue"] < 0.05
    assert report["net/op 0 conv <1>"]["measurements"][0]["time"] == 0


def test_google_benchmark_has_a_repetition_for_each_launch(tmp_path: Path) -> None:
    document = json.loads(reports.find("google-benchmark").run(many(tmp_path)))
    entries = [entry for entry in document["benchmarks"] if entry["name"] == "net/latency"]
    assert [entry["repetition_index"] for entry in entries] == list(range(9))
    assert {entry["real_time"] for entry in entries} == {100_020.0}  # the median of 5
    assert entries[0]["shipped_bytes"] == 1005
    assert document["context"]["host_name"] == "pi4"


def spans_of(trace: str) -> dict[int, list[tuple[str, float, float]]]:
    """(what, begin, end) in microseconds, by thread, in the order in which they end. Every end is
    of the span that began last.
    """
    open_spans: dict[int, list[tuple[str, float]]] = {}
    document: dict[int, list[tuple[str, float, float]]] = {}
    for event in json.loads(trace)["traceEvents"]:
        stack = open_spans.setdefault(event["tid"], [])
        if event["ph"] == "B":
            stack.append((event["name"], event["ts"]))
        elif event["ph"] == "E":
            what, begin = stack.pop()
            assert what == event["name"]
            document.setdefault(event["tid"], []).append((what, begin, event["ts"]))
        else:
            assert event["ph"] == "M"
    assert not any(open_spans.values())
    return document


def test_a_trace_has_every_inference_and_operator_in_turn(tmp_path: Path) -> None:
    threads = spans_of(reports.find("trace").run(many(tmp_path)))
    assert len(threads) == 1 + 9
    assert [what for what, *_ in threads[1]] == ["load", "first inference", *["inference"] * 5]
    for before, after in itertools.pairwise(threads[1]):
        assert after[1] == before[2]  # to the last digit
    assert threads[1][2][2] - threads[1][2][1] == pytest.approx(100.0)  # µs
    conv, relu, whole = threads[0][:3]
    assert (conv[0], relu[0], whole[0]) == ("conv <1>", "relu|1", "inference 1")
    assert (conv[1], conv[2], relu[2]) == (whole[1], relu[1], whole[2])


def test_a_trace_has_the_shares_of_every_thread(tmp_path: Path) -> None:
    shared: list[list[list[int] | None]] = [[[10, 400], [30, 380]], [None, None]]
    path = write_record(tmp_path, launches=2, shares=shared)
    threads = spans_of(reports.find("trace").run(summary.summarize(records.read(path))))
    first, second = threads[3], threads[4]  # after operators and two launches
    assert first[:2] == [("conv <1>", 0.01, 0.4), ("relu|1", 0.401, 0.802)]
    assert second == [("conv <1>", 0.03, 0.38), ("conv <1>", 0.832, 1.182)]


def test_every_row_of_a_trace_has_a_name_of_its_own(tmp_path: Path) -> None:
    shared: list[list[list[int] | None]] = [[[10, 400], [30, 380]], [None, None]]
    path = write_record(tmp_path, launches=2, shares=shared)
    trace = reports.find("trace").run(summary.summarize(records.read(path)))
    events = [e for e in json.loads(trace)["traceEvents"] if e["name"] == "thread_name"]
    assert [(event["tid"], event["args"]["name"]) for event in events] == [
        (0, "inferences by operator"),
        (1, "launch 1"),
        (2, "launch 2"),
        (3, "thread 1 by operator"),
        (4, "thread 2 by operator"),
    ]
    assert {event["tid"] for event in events} == spans_of(trace).keys()


def test_a_trace_has_the_inferences_of_which_every_operator_was_measured(tmp_path: Path) -> None:
    run = many(tmp_path)
    conv, relu = run.ops
    ops = (replace(conv, samples_ns=(400, 402, 404)), replace(relu, samples_ns=(10, 12)))
    threads = spans_of(reports.find("trace").run(replace(run, ops=ops)))
    assert [end - begin for what, begin, end in threads[0] if "inference" in what] == (
        pytest.approx([0.41, 0.414])
    )


@pytest.mark.parametrize("name", ["trace", "google-benchmark"])
def test_formats_of_times_refuse_a_run_without(name: str, tmp_path: Path) -> None:
    emulated = one(tmp_path, is_emulated=True, instructions=5)
    with pytest.raises(UsageError, match=r"has none \(emulated\)"):
        reports.find(name).run(emulated)


def test_bencher_metric_format_follows_its_schema(tmp_path: Path) -> None:
    document = json.loads(reports.find("bencher").run(many(tmp_path)))
    for measures in document.values():
        for metric in measures.values():
            assert metric.keys() <= {"value", "lower_value", "upper_value"}
            assert all(type(number) in (int, float) for number in metric.values())
            assert metric.get("lower_value", 0) <= metric["value"]
    assert document["net"]["latency"]["value"] == 100_020
    assert document["net"]["file-size"] == {"value": 1005}
    assert document["net/op 0 conv <1>"]["latency"]["value"] == 401


def test_bencher_has_instructions_in_place_of_an_emulators_time(tmp_path: Path) -> None:
    emulated = one(tmp_path, is_emulated=True, instructions=77)
    document = json.loads(reports.find("bencher").run(emulated))
    assert document["net"]["instructions"] == {"value": 77}
    assert not any("latency" in measures for measures in document.values())


def test_the_github_action_is_given_a_list_of_entries(tmp_path: Path) -> None:
    document = json.loads(reports.find("github-action-benchmark").comparison(two(tmp_path)))
    assert all(entry.keys() >= {"name", "unit", "value"} for entry in document)
    assert len({entry["name"] for entry in document}) == len(
        document
    )  # it tells them apart by name
    values = {entry["name"]: entry["value"] for entry in document}
    assert values["net [tiny]: inference"] == pytest.approx(values["net [full]: inference"] / 2)


def test_csv_has_a_row_for_each_figure_and_operator(tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(reports.find("csv").comparison(two(tmp_path)))))
    latency = [row for row in rows if row["key"] == "latency"]
    assert [row["profile"] for row in latency] == ["full", "tiny"]
    assert float(latency[1]["value"]) == pytest.approx(float(latency[0]["value"]) / 2)
    assert {row["name"] for row in rows if row["key"] == "op"} == {"op 0 conv <1>", "op 1 relu|1"}
    assert {row["unit"] for row in rows} == {"ns", "bytes"}


def test_csv_holds_no_formula(tmp_path: Path) -> None:
    evil = one(tmp_path, profile="=1+2")
    rows = list(csv.DictReader(io.StringIO(reports.find("csv").run(evil))))
    assert {row["profile"] for row in rows} == {"'=1+2"}


def test_bloatys_csv_has_every_byte_of_the_file(tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(reports.find("bloaty").run(one(tmp_path)))))
    assert list(rows[0]) == ["compileunits", "vmsize", "filesize"]
    assert {row["compileunits"]: int(row["filesize"]) for row in rows} == FULL
    both = list(csv.DictReader(io.StringIO(reports.find("bloaty").comparison(two(tmp_path)))))
    assert {row["inputfiles"] for row in both} == {"net [full]", "net [tiny]"}
    with pytest.raises(UsageError, match="has no sizes of parts"):
        reports.find("bloaty").run(many(tmp_path))


def suites(text: str) -> list[ElementTree.Element]:
    return ElementTree.fromstring(text).findall("testsuite")


@pytest.mark.parametrize(
    ("status", "tag"),
    [(Status.OK, None), (Status.FAILED, "failure"), (Status.INFRA, "error")],
)
def test_junit_tells_a_failure_from_an_error(
    status: Status, tag: str | None, tmp_path: Path
) -> None:
    suite = suites(reports.find("junit").run(one(tmp_path, status=status)))[0]
    ended = suite.findall("testcase")[0]
    assert [child.tag for child in ended] == ([tag] if tag else [])
    assert int(suite.get("tests", "")) == len(suite.findall("testcase"))
    assert int(suite.get("failures", "")) == (tag == "failure")
    assert int(suite.get("errors", "")) == (tag == "error")


def judged(document: Comparison, ratio: float, is_real: bool | None) -> Comparison:
    rows = tuple(
        replace(row, ratios=(Ratio(ratio, Interval(ratio - 0.01, ratio + 0.01), is_real),))
        if row.key == "latency"
        else row
        for row in document.rows
    )
    return replace(document, rows=rows)


@pytest.mark.parametrize(
    ("ratio", "is_real", "tag"),
    [(1.1, True, "failure"), (0.9, True, "system-out"), (1.1, None, "skipped")],
)
def test_junit_fails_a_run_that_is_significantly_slower(
    ratio: float, is_real: bool | None, tag: str, tmp_path: Path
) -> None:
    text = reports.find("junit").comparison(judged(two(tmp_path), ratio, is_real))
    case = suites(text)[1].findall("testcase")[-1]
    assert case.get("name") == "it is not slower than net [full]"
    assert [child.tag for child in case] == [tag]


def test_junit_is_xml_whatever_the_names(tmp_path: Path) -> None:
    suite = suites(reports.find("junit").run(one(tmp_path, profile="a<\x07&b")))[0]
    properties = {p.get("name"): p.get("value") for p in suite.iter("property")}
    assert properties["profile"] == "a<\\x07&b"
