"""One contract over all report formats that are found, and what each alone must do."""

from __future__ import annotations

import contextlib
import dataclasses
import html.parser
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.bench.fakes import write_record
from tests.page_data import page_data
from tests.test_accuracy import SEARCH
from trimtab import reports
from trimtab.compare import side_by_side
from trimtab.compare.side_by_side import Comparison
from trimtab.errors import UsageError
from trimtab.results import records, summary, thread_spans
from trimtab.results.footprint import Footprint
from trimtab.results.records import Status
from trimtab.results.summary import Summary

FULL = {"op:conv": 500, "op:relu": 50, "kernel:gemm_f32_4x8_neon": 300, "core": 100, "libc": 50}
TRIMMED = {"op:conv": 480, "kernel:gemm_f32_4x8_neon": 300, "core": 90, "libc": 50}


def of_run(name: str, run: Summary) -> str:
    """The report of a run in a format; a page without its scripts."""
    return without_code(reports.find(name).run(run))


def of_two(name: str, comparison: Comparison) -> str:
    """The same of a comparison."""
    return without_code(reports.find(name).comparison(comparison))


def one(directory: Path, **options: Any) -> Summary:
    path = write_record(directory, groups=FULL, **options)
    return summary.summarize(records.read(path))


def two(directory: Path, **options: Any) -> Comparison:
    slow = [100_000 + 10 * i for i in range(40)]
    a = write_record(
        directory, samples=slow, groups=FULL, profile="full", binary_bytes=1000, **options
    )
    b = write_record(
        directory,
        samples=[ns // 2 for ns in slow],
        groups=TRIMMED,
        profile="tiny",
        binary_bytes=920,
        **options,
    )
    return side_by_side.compare([records.read(a), records.read(b)])


WHOLE = [name for name in reports.names() if reports.find(name).IS_WHOLE]


def test_formats_are_found_by_file_name() -> None:
    assert WHOLE == ["html", "json", "markdown", "terminal"]
    assert "google-benchmark" in reports.names()
    with pytest.raises(UsageError, match="unknown report format 'pdf'"):
        reports.find("pdf")
    with pytest.raises(UsageError):
        reports.find("_tables")


@pytest.mark.parametrize("name", WHOLE)
class TestEveryReport:
    def test_shows_the_figures_of_a_run(self, name: str, tmp_path: Path) -> None:
        text = of_run(name, one(tmp_path))
        assert "cortex-a53" in text
        assert re.search(r"100 µs|\b100000\b", text)
        assert re.search("999,424|999424", text)

    def test_begins_with_the_answer(self, name: str, tmp_path: Path) -> None:
        run = one(tmp_path)
        text = of_run(name, run)
        accuracy, cost, shipped = (
            re.search(p, text) for p in ("golden|outputs", "100 µs|\\b100000", "1,005 B|1005")
        )
        assert accuracy
        assert cost
        assert shipped
        assert run.header.run_id in text
        assert Path(run.path).name in text
        if name != "json":  # an object has no first line
            assert max(text.index(run.path), cost.start(), shipped.start()) < text.index("kernel")

    def test_leads_with_what_is_shipped(self, name: str, tmp_path: Path) -> None:
        run = of_run(name, one(tmp_path))
        assert run.index("hipped") < re.search("peak(?!_of)", run).start()  # type: ignore[union-attr]
        comparison = of_two(name, two(tmp_path))
        assert comparison.index("shipped") < comparison.index("inference")

    def test_shows_the_alternatives_of_a_build(self, name: str, tmp_path: Path) -> None:
        way, other = (
            Footprint("net.onnx (source)", 31_337),
            Footprint("f16", 15_000, load_ns=4_231_000),
        )
        run = dataclasses.replace(one(tmp_path), shipped=(way,))
        compared = dataclasses.replace(two(tmp_path), runs=(run, run))
        for text in (of_run(name, run), of_two(name, compared)):
            assert "net.onnx (source)" in text
            assert re.search("31,337|31337", text)
            assert "on the host" not in text
        loaded = of_run(name, dataclasses.replace(run, shipped=(way, other)))
        assert re.search(r"4\.2 ms|4231000", loaded)

    def test_shows_accuracy_before_any_speed(self, name: str, tmp_path: Path) -> None:
        plain = one(tmp_path)
        run = dataclasses.replace(plain, accuracy=SEARCH.candidates[1].accuracy, search=SEARCH)
        text = of_run(name, run)
        expected_spans = re.search(r"0\.95|cosine", text)
        assert expected_spans
        speed = re.search(r"100 µs|\b100000\b|Most expensive", text)
        assert speed
        assert expected_spans.start() < speed.start()
        assert "1 of 3 in int8" in text
        assert "5.00%" in text or "0.05" in text
        assert "Accuracy" not in of_run(name, plain)

    def test_sets_runs_side_by_side_with_their_ratio(self, name: str, tmp_path: Path) -> None:
        text = of_two(name, two(tmp_path))
        assert re.search(r"0\.500x|0\.5\b|0\.500", text)
        assert re.search(r"0\.920x|0\.92\b", text)
        assert "full" in text
        assert "tiny" in text

    def test_shows_instructions_of_an_emulator(self, name: str, tmp_path: Path) -> None:
        run = of_run(name, one(tmp_path, is_emulated=True, instructions=123_456_789))
        comparison = of_two(name, two(tmp_path, is_emulated=True, instructions=123_456_789))
        for text in (run, comparison):
            assert re.search("123,456,789|123456789", text)
            assert not re.search(r"latency\b(?!_)", text)

    def test_a_failed_run_says_so(self, name: str, tmp_path: Path) -> None:
        assert "INFRA" in of_run(name, one(tmp_path, status=Status.INFRA))
        assert "went up in smoke" in of_two(name, two(tmp_path, status=Status.INFRA))


@pytest.mark.parametrize("name", reports.names())
class TestEveryFormat:
    def test_is_a_whole_file_of_text(self, name: str, tmp_path: Path) -> None:
        form = reports.find(name)
        assert form.SUFFIX.startswith(".")
        run, comparison = of_run(name, one(tmp_path)), of_two(name, two(tmp_path))
        assert run.endswith("\n")
        assert comparison.endswith("\n")
        # A trace says when an inference of 100 µs begins and ends.
        pattern = r"\b(99|100)(000|,000|\.0| µs)|\"ts\": 225\.0"
        assert "gemm_f32_4x8_neon" in run or re.search(pattern, run)
        assert "full" in comparison
        assert "tiny" in comparison

    def test_shows_no_time_of_an_emulator(self, name: str, tmp_path: Path) -> None:
        emulated: dict[str, Any] = {"is_emulated": True, "instructions": 123_456_789}
        texts = []
        with contextlib.suppress(UsageError):  # it has no place for anything but times
            texts.append(of_run(name, one(tmp_path, **emulated)))
            texts.append(of_two(name, two(tmp_path, **emulated)))
        assert texts or name not in WHOLE
        for text in texts:
            assert not re.search(r"\d (ms|µs|ns|s)\b|100000|99000\b", text)


class Balanced(html.parser.HTMLParser):
    """Fails on a tag that is closed out of order, and keeps the tags."""

    VOID = frozenset({"meta"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def without_code(text: str) -> str:
    """A page without its scripts and style, but with the data that they draw."""
    return re.sub(r"<(script|style)>.*?</\1>", "", text, flags=re.S)


def charts_of(text: str) -> dict[str, Any]:
    """The charts of a page by their kind, as its script is given them."""
    (data,) = page_data(text)
    return {chart["kind"]: chart for chart in json.loads(data)}


def test_html_is_one_well_formed_page_that_may_fetch_nothing(tmp_path: Path) -> None:
    form = reports.find("html")
    for text in (form.run(one(tmp_path)), form.comparison(two(tmp_path))):
        page = Balanced()
        page.feed(text)
        page.close()
        assert page.open == []
        assert len(text) < 100_000  # most of it are the scripts that draw
        assert "content=\"default-src 'none';" in text
        assert not {"img", "link", "iframe"} & set(page.seen)
        assert not re.search(r"https?://|url\(|@import|\bsrc=", without_code(text))


def test_html_draws_the_charts_of_a_record(tmp_path: Path) -> None:
    charts = charts_of(reports.find("html").run(one(tmp_path)))
    assert list(charts) == ["timeline", "bars", "samples", "treemap"]
    assert [span["cost"] for span in charts["timeline"]["data"]["spans"]] == [401, 401]
    assert charts["samples"]["data"]["series"][0]["launches"] == [[100_000, 101_000, 99_000]]
    tree = charts["treemap"]["data"]["tree"]["children"]
    leaves = [leaf for group in tree for leaf in group.get("children", [group])]
    assert sum(leaf["value"] for leaf in leaves) == 1000 + 5  # binary and model
    compared = charts_of(reports.find("html").comparison(two(tmp_path)))
    assert list(compared) == ["bars", "samples", "stacked"]


def test_html_draws_the_work_of_each_thread(tmp_path: Path) -> None:
    """The second operator is the first thread's alone. An older record knows nothing."""
    shared: list[list[list[int] | None]] = [[[10, 400], [30, 380]], [None, None]]
    for i, expected_spans in enumerate((shared, None)):
        directory = tmp_path / str(i)
        directory.mkdir()
        path = write_record(directory, shares=expected_spans)
        run = summary.summarize(records.read(path))
        protocol = {**run.header.protocol, "threads": 2}
        run = dataclasses.replace(run, header=dataclasses.replace(run.header, protocol=protocol))
        timeline = charts_of(reports.find("html").run(run))["timeline"]
        drawn = [span["threads"] for span in timeline["data"]["spans"]]
        assert drawn == ([[[10, 400], [30, 380]], [[0, 401], None]] if expected_spans else [[], []])
        assert ("no times of each thread" in timeline["caption"]) == (expected_spans is None)


def test_a_thread_with_a_share_in_half_of_the_inferences_is_drawn() -> None:
    inferences: list[list[thread_spans.Span]] = [
        [(0, 10), (4, 8), None],
        [(2, 30), None, (1, 2)],
        [(4, 20), (6, 90), None],
    ]
    assert list(thread_spans.medians(inferences, 40)) == [(2, 20), (5, 40), None]


def test_html_draws_memory_and_roofs_of_a_record_that_knows_the_network(tmp_path: Path) -> None:
    operators = [
        {"label": "conv 1", "macs": 1000, "weights_bytes": 4, "moved_bytes": 40, "reads": []},
        {"label": "relu 1", "macs": 0, "weights_bytes": 0, "moved_bytes": 80, "reads": [0]},
        {"label": "conv 2", "macs": 1000, "weights_bytes": 1, "moved_bytes": 50, "reads": [1]},
    ]
    tensors = [{"name": "y", "bytes": 40, "first": 0, "last": 1}]
    network = {"operators": operators, "memory": tensors, "gb_per_s": 2.5}
    plain = one(tmp_path)
    ops = (*plain.ops, dataclasses.replace(plain.ops[0], index=2))
    run = dataclasses.replace(plain, network=network, ops=ops)
    charts = charts_of(reports.find("html").run(run))
    assert charts["memory"]["data"]["held"] == tensors
    roofline = charts["roofline"]["data"]
    assert roofline["gbPerS"] == 2.5
    assert [op["moved"] for op in roofline["ops"]] == [44, 51]  # only what multiplies
    trees = {tree["name"]: tree for tree in charts["treemap"]["data"]["tree"]["children"]}
    assert [leaf["value"] for leaf in trees["model: weights"]["children"]] == [4, 1]
    assert "model: graph" not in trees  # the file of 5 bytes has nothing else
    model = dataclasses.replace(run.header.model, file_bytes=25)
    larger = dataclasses.replace(run, header=dataclasses.replace(run.header, model=model))
    charts = charts_of(reports.find("html").run(larger))
    trees = {tree["name"]: tree for tree in charts["treemap"]["data"]["tree"]["children"]}
    assert trees["model: graph"]["value"] == 20


def test_html_draws_error_and_cost_of_every_candidate(tmp_path: Path) -> None:
    text = reports.find("html").run(dataclasses.replace(one(tmp_path), search=SEARCH))
    dots = {dot["label"]: dot for dot in charts_of(text)["plane"]["data"]["dots"]}
    assert len(dots) == len(SEARCH.candidates)
    assert [dot["marked"] for dot in dots.values()].count(True) == 1
    assert dots["f32"]["x"] > dots["1 of 3 in int8"]["x"] > dots["int8"]["x"]


def test_html_escapes_names(tmp_path: Path) -> None:
    text = without_code(reports.find("html").run(one(tmp_path, profile="</script><b>")))
    assert "conv &lt;1&gt;" in text
    assert "conv <1>" not in text
    assert "<b>" not in text


def test_markdown_tables_keep_their_columns_whatever_the_names(tmp_path: Path) -> None:
    lines = reports.find("markdown").run(one(tmp_path)).splitlines()
    assert any("relu\\|1" in line for line in lines)
    tables = "\n".join(lines).split("\n\n")
    for table in (block for block in tables if block.startswith("|")):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_json_is_read_by_a_program(tmp_path: Path) -> None:
    run = json.loads(reports.find("json").run(one(tmp_path)))
    assert run["figures"]["latency"]["median"] == 100_000
    assert run["groups"] == FULL
    comparison = json.loads(reports.find("json").comparison(two(tmp_path)))
    rows = {row["key"]: row for row in comparison["rows"]}
    assert rows["latency"]["ratios"][0]["value"] == pytest.approx(0.5)
    assert rows["latency"]["ratios"][0]["is_real"] is None
    assert rows["binary_bytes"]["ratios"][0]["is_real"] is True
    assert rows["binary_bytes"]["values"] == [1000, 920]


def test_runs_that_do_not_match_are_noted(tmp_path: Path) -> None:
    board = records.read(write_record(tmp_path))
    emulator = records.read(write_record(tmp_path, is_emulated=True, instructions=5))
    notes = " ".join(side_by_side.compare([board, emulator]).notes)
    assert "different devices" in notes
    assert "Emulated" in notes


def test_runs_without_a_difference_are_called_a_and_b(tmp_path: Path) -> None:
    runs = [records.read(write_record(tmp_path)) for _ in range(2)]
    text = reports.find("terminal").comparison(side_by_side.compare(runs))
    assert "A against B" in text
    assert "not judged" in text
    assert "separate measurements" in text


def cell(directory: Path, ns: int, size: int, profile: str) -> Summary:
    path = write_record(directory, samples=[ns] * 3, binary_bytes=size, profile=profile)
    return summary.summarize(records.read(path))


def test_configurations_of_the_pareto_front_are_named(tmp_path: Path) -> None:
    runs = [
        cell(tmp_path, 100, 5000, "fast"),
        cell(tmp_path, 300, 2000, "small"),
        cell(tmp_path, 200, 3000, "between"),
        cell(tmp_path, 250, 4000, "beaten"),
    ]
    lines = reports.find_overview("terminal").cells(runs).splitlines()
    signs = {
        name: line[0] for line in lines for name in ("fast", "small", "beaten") if name in line
    }
    assert signs == {"fast": "C", "small": "A", "beaten": " "}
    text = without_code(reports.find_overview("html").cells(runs))
    assert text.count('<td class="left">best</td>') == 3
    assert len(charts_of(text)["cells"]["data"]["rows"]) == 4


def test_an_overview_has_the_newest_run_of_each_configuration_and_names_failures(
    tmp_path: Path,
) -> None:
    old, new = cell(tmp_path, 100, 5000, "tiny"), cell(tmp_path, 90, 5000, "tiny")
    broken = dataclasses.replace(old, status=Status.CRASHED, message="signal 11 in conv 3")
    text = without_code(reports.find_overview("html").cells([new, old, broken]))
    assert new.header.run_id in text
    assert "90 ns" in text
    assert "100 ns" not in text
    reason = f"Run {old.header.run_id} of net / tiny / pi4 ended with CRASHED: signal 11 in conv 3"
    assert reason in text
    assert reason in reports.find_overview("terminal").cells([new, old, broken])
    with pytest.raises(UsageError, match="has no overview"):
        reports.find_overview("junit")


def test_times_of_a_device_that_is_not_quiet_are_a_warning_and_failed_runs_are_last(
    tmp_path: Path,
) -> None:
    samples = [1000] * 17 + [29_000] * 3
    run = summary.summarize(records.read(write_record(tmp_path / "a", samples=samples)))
    steady = summary.summarize(records.read(write_record(tmp_path / "b", samples=[1000] * 20)))
    failed = dataclasses.replace(steady, status=Status.CRASHED, message="signal 11")
    for text in (
        without_code(reports.find("html").run(run)),
        reports.find("terminal").run(run),
        reports.find_overview("terminal").cells([run, steady]),
        without_code(reports.find_overview("html").cells([run, failed])),
    ):
        assert "the p90 is 29.0 times the median" in text
    assert text.index("signal 11") > text.index("<table")
    assert "the p90 is" not in reports.find("terminal").run(steady)


def test_a_run_in_the_terminal_ends_with_the_answer(tmp_path: Path) -> None:
    run = one(tmp_path)
    lines = reports.find("terminal").run(run).splitlines()
    names = ("build", "accuracy", "one inference", "shipped", "run", "record")
    assert tuple(line.split("  ")[0] for line in lines[2:8]) == names
    assert lines[-6:] == lines[2:8]
    assert lines[-6].endswith("cortex-a53, 1 thread")
    assert "100 µs (95 % interval" in lines[-4]
    assert lines[-1].endswith(run.path)
    failed = one(tmp_path, status=Status.FAILED)
    assert (
        "FAILED: the board went up in smoke"
        in reports.find("terminal").run(failed).splitlines()[-7]
    )
