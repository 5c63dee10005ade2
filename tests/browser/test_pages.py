"""Pages as a browser sees them: drawn, silent, and alone."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from lab.docs import pictures
from tests.bench.fakes import make_header, write_record
from tests.browser import chromium
from tests.hostile_text import ALL, check_displayed
from tests.reports.test_server import serving
from tests.some import some
from tests.test_accuracy import SEARCH
from trimtab import paths, reports
from trimtab.accuracy import Accuracy
from trimtab.compare import side_by_side
from trimtab.results import records, summary
from trimtab.results.paced import Paced, of_record
from trimtab.results.records import Status, Writer
from trimtab.results.summary import Summary

GROUPS = {"op:conv": 500, "op:relu": 50, "kernel:gemm_f32_4x8_neon": 300, "core": 100, "libc": 50}
NETWORK: dict[str, Any] = {
    "operators": [
        {"label": "conv <1>", "macs": 9000, "weights_bytes": 4, "moved_bytes": 40, "reads": []},
        {"label": "relu|1", "macs": 80, "weights_bytes": 0, "moved_bytes": 80, "reads": [0]},
    ],
    "memory": [
        {"name": "a", "bytes": 40, "first": 0, "last": 1},
        {"name": "b", "bytes": 60, "first": 1, "last": 2},
    ],
    "before": [
        {"label": "conv <1>", "reads": [], "becomes": 0},
        {"label": "batch_normalization 2", "reads": [0], "becomes": 0},
        {"label": "relu|1", "reads": [1], "becomes": 1},
        {"label": "identity 3", "reads": [2], "becomes": None},
    ],
    "gb_per_s": 2.5,
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Page]:
    program = chromium.program()
    with chromium.page(program, tmp_path_factory.mktemp("profile")) as page:
        yield page


def paced(directory: Path) -> Paced:
    """A run of 20 frames at 10 a second on a board that becomes warm."""
    with Writer(directory, make_header()) as writer:
        samples = [[0.0, 2400.0, 45.0], [1.0, 1500.0, 71.5]]
        pace = {"fps": 10, "seconds": 2, "samples": samples, "why": ""}
        writer.event({"event": "pace", **pace})
        for i in range(20):
            timing = {"i": i, "ns": 5_000_000 * (i + 1), "frame": i, "wait_ns": 9}
            writer.event({"event": "run", **timing, "instructions": None})
        writer.end(Status.OK)
    result = of_record(records.read(writer.path))
    assert result
    return result


def whole(directory: Path, **options: Any) -> Summary:
    """A run that knows all that there are charts of."""
    path = write_record(directory, launches=3, groups=GROUPS, **options)
    run = summary.summarize(records.read(path))
    frames = None if run.header.is_emulated else paced(directory / "paced")  # they need times
    return replace(run, network=NETWORK, search=SEARCH, paced=frames)


def written(directory: Path, text: str) -> str:
    path = directory / "page.html"
    path.write_text(text)
    return path.as_uri()


def check(page: chromium.Page, url: str, charts: int) -> None:
    """Every chart is drawn with marks and axes, nothing is complained of, nothing is fetched."""
    assert page.errors == []
    assert page.requests == [url]
    drawn = page.run(
        "[...document.querySelectorAll('.chart')].map(c => c.dataset.drawn === 'yes' &&"
        " c.querySelectorAll('.plot svg :is(rect, circle, path)').length)"
    )
    assert len(drawn) == charts
    assert all(marks and marks >= 2 for marks in drawn), drawn


@pytest.mark.parametrize("is_dark", [False, True])
@pytest.mark.parametrize("width", [1200, 390])
def test_every_chart_of_a_run_is_drawn(
    browser: chromium.Page, tmp_path: Path, width: int, is_dark: bool
) -> None:
    url = written(tmp_path, reports.find("html").run(whole(tmp_path)))
    browser.open(url, width, is_dark=is_dark)
    check(browser, url, charts=9)
    # Nothing but tables and charts, which scroll by themselves, is wider than the screen.
    assert browser.run("document.documentElement.scrollWidth") <= width
    paper = browser.run("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(20, 24, 31)" if is_dark else "rgb(255, 255, 255)")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_first_screen_has_the_answer(
    browser: chromium.Page, tmp_path: Path, width: int
) -> None:
    run = whole(tmp_path, instructions=5)
    run = replace(run, accuracy=SEARCH.candidates[1].accuracy, losses=("a loss " * 60,) * 9)
    browser.open(written(tmp_path, reports.find("html").run(run)), width)
    for text in ("100 µs", "1,005 B", "cosine", run.header.run_id, "record"):
        cells = (
            f"[...document.querySelectorAll('td')].filter(c => c.textContent.includes('{text}'))"
        )
        bottom = browser.run(f"{cells}[0].getBoundingClientRect().bottom")
        assert 0 < bottom < 800, text


def test_a_chart_of_hostile_names_is_an_svg_file(browser: chromium.Page, tmp_path: Path) -> None:
    network = json.loads(json.dumps(NETWORK).replace('"conv <1>"', json.dumps(ALL)))
    run = replace(whole(tmp_path), network=network)
    run = replace(run, ops=(replace(run.ops[0], label=ALL), *run.ops[1:]))
    browser.open(written(tmp_path, reports.find("html").run(run)))
    assert browser.errors == []
    serialized = "(svg => new XMLSerializer().serializeToString(svg))"
    pictures = browser.run(f"[...document.querySelectorAll('.plot svg')].map({serialized})")
    assert len(pictures) >= 8
    for picture in pictures:
        check_displayed(picture)
        tags = {
            element.tag.rpartition("}")[2] for element in ElementTree.fromstring(picture).iter()
        }
        assert not tags & {"script", "img", "b", "foreignObject"}


def test_labels_on_a_narrow_screen_stay_apart(browser: chromium.Page, tmp_path: Path) -> None:
    run = whole(tmp_path)
    names = [f"conv_separable backbone.stage{i}.block.conv.weight.packed" for i in range(12)]
    names += [f"conv head.{'very.' * 20}long{i}" for i in (1, 10, 100)]
    ops = tuple(replace(run.ops[0], index=i, label=name) for i, name in enumerate(names))
    browser.open(written(tmp_path, reports.find("html").run(replace(run, ops=ops))), 390)
    assert browser.errors == []
    ticks = "document.querySelectorAll('[data-kind=bars] [aria-label=\"y-axis tick label\"] text')"
    labels = browser.run(f"[...{ticks}].map(t => t.textContent)")
    assert len(labels) == len(set(labels)) == len(names)
    assert all(len(label) <= 20 for label in labels), labels


def test_every_chart_of_a_comparison_is_drawn(browser: chromium.Page, tmp_path: Path) -> None:
    paths = [write_record(tmp_path, profile=p, groups=GROUPS) for p in ("full", "tiny")]
    compared = side_by_side.compare([records.read(path) for path in paths])
    url = written(tmp_path, reports.find("html").comparison(compared))
    browser.open(url)
    check(browser, url, charts=3)


def test_a_run_of_an_emulator_is_drawn(browser: chromium.Page, tmp_path: Path) -> None:
    run = whole(tmp_path, is_emulated=True, instructions=123_456)
    url = written(tmp_path, reports.find("html").run(run))
    browser.open(url)
    check(browser, url, charts=7)  # no samples of times


def test_the_network_is_drawn_before_and_after_the_passes(
    browser: chromium.Page, tmp_path: Path
) -> None:
    url = written(tmp_path, reports.find("html").run(whole(tmp_path)))
    browser.open(url)
    graph = "document.querySelector('[data-kind=graph]')"
    headings = browser.run(f"[...{graph}.querySelectorAll('h3')].map(h => h.textContent)")
    assert headings == ["before: 4 operators", "after: 2 operators"]
    labels = browser.run(
        f"[...{graph}.querySelectorAll('rect[aria-label]')].map(r => r.getAttribute('aria-label'))"
    )
    assert [text.split(":")[0] for text in labels] == [
        *("conv <1>, now part of conv <1>", "batch_normalization 2, now part of conv <1>"),
        *("relu|1, now part of relu|1", "identity 3, removed", "conv <1>", "relu|1"),
    ]


def test_all_networks_of_a_sweep_are_answered_for_at_once(
    browser: chromium.Page, tmp_path: Path
) -> None:
    runs = []
    for name, size in (("small", 1_000), ("large", 9_000)):
        for profile in ("full", "tiny"):
            path = write_record(tmp_path, profile=profile, binary_bytes=size + len(profile))
            run = summary.summarize(records.read(path))
            model = replace(run.header.model, name=f"{name}.ttm")
            runs.append(replace(run, header=replace(run.header, model=model)))
    url = written(tmp_path, reports.find_overview("html").cells(runs))
    browser.open(f"{url}#model=all")
    assert browser.errors == []
    lines = browser.run("document.querySelector('.answer').textContent").split("\n")
    assert len(lines) == 3
    assert all(run.header.run_id in browser.run("document.body.textContent") for run in runs)
    assert lines[0].split("run ")[1][:12] in {run.header.run_id for run in runs}
    assert {line.split(": ")[1].split(",")[0] for line in lines[:2]} == {"small", "large"}
    assert lines[2] == "4 of 4 configurations."


def test_a_request_that_a_page_tries_is_refused(browser: chromium.Page, tmp_path: Path) -> None:
    url = written(tmp_path, reports.find("html").run(whole(tmp_path)))
    browser.open(url)
    request = "fetch('https://example.org/').then(() => 'sent', () => 'refused')"
    assert browser.run(request) == "refused"
    assert any("Content Security Policy" in error for error in browser.errors)


def test_keys_go_through_the_marks_of_a_chart(browser: chromium.Page, tmp_path: Path) -> None:
    url = written(tmp_path, reports.find("html").run(whole(tmp_path)))
    browser.open(url)
    browser.press("Tab")
    assert browser.run("document.activeElement.className") == "chart"
    announcement = "document.activeElement.querySelector('output').textContent"
    browser.press("ArrowRight")
    first = browser.run(announcement)
    browser.press("ArrowRight")
    assert len({first, browser.run(announcement), ""}) == 3
    assert browser.run("document.querySelectorAll('.current').length") == 1


def test_colors_of_series_keep_apart_for_the_color_blind(
    browser: chromium.Page, tmp_path: Path
) -> None:
    """The first five, as a deuteranope sees them (Machado, Oliveira and Fernandes, 2009)."""
    url = written(tmp_path, reports.find("html").run(whole(tmp_path)))
    for is_dark in (False, True):
        browser.open(url, is_dark=is_dark)
        colors = browser.run(
            "[0, 1, 2, 3, 4].map(i => getComputedStyle(document.documentElement)"
            ".getPropertyValue('--c' + i).trim())"
        )
        perceived = [deuteranope(color) for color in colors]
        pairs = [(a, b) for i, a in enumerate(perceived) for b in perceived[:i]]
        assert min(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) for a, b in pairs) > 0.008


def deuteranope(color: str) -> list[float]:
    matrix = ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969))
    rgb = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in rgb]
    return [sum(m * x for m, x in zip(row, linear, strict=True)) for row in matrix]


def sweep(directory: Path, count: int) -> list[Summary]:
    summaries = []
    for i in range(count):
        path = write_record(
            directory,
            samples=[900_000 + (i * 7919) % 500_000] * 3,
            profile=f"profile{i % 100}",
            binary_bytes=50_000 + 997 * i,
        )
        summaries.append(summary.summarize(records.read(path)))
    return summaries


def test_an_inaccurate_configuration_is_no_answer(browser: chromium.Page, tmp_path: Path) -> None:
    runs = []
    for size, top1 in ((5_000, 1.0), (1_000, 0.24)):
        path = write_record(tmp_path, binary_bytes=size)
        accuracy = Accuracy(10, 0.8, 0.3, 1.0, top1=top1)
        runs.append(replace(summary.summarize(records.read(path)), accuracy=accuracy))
    browser.open(written(tmp_path, reports.find_overview("html").cells(runs)))
    answer = browser.run("document.querySelector('.answer').textContent")
    assert [run.header.run_id in answer for run in runs] == [True, False]
    assert "1 is inaccurate and left out: has the top-1 of float32 in 24.0% of samples" in answer


def test_a_page_of_500_cells_opens_in_two_seconds_and_answers(
    browser: chromium.Page, tmp_path: Path
) -> None:
    runs = sweep(tmp_path, 250)
    again = [replace(run, header=replace(run.header, cpu="cortex-a76")) for run in runs]
    url = written(tmp_path, reports.find_overview("html").cells([*runs, *again]))
    seconds = browser.open(url)
    assert seconds < 2
    check(browser, url, charts=1)
    answer = "document.querySelector('.answer').textContent"
    assert browser.run(answer).endswith("500 of 500 configurations.")
    limit = "document.querySelector('input').value = '1'; document.querySelector('input').oninput()"
    browser.run(limit)
    fit = sorted(
        (run.figure("shipped_bytes").value, run.headline.value)  # type: ignore[union-attr]
        for run in runs
        if run.headline and run.headline.value <= 1e6
    )
    answer_text = browser.run(answer)
    assert f"{2 * len(fit)} of 500 configurations are within the limit" in answer_text
    assert f"{fit[0][0] / 1e3:.4g} kB" in answer_text.split(". ")[0]


def test_a_served_page_grows_and_keeps_what_was_chosen(
    browser: chromium.Page, tmp_path: Path
) -> None:
    for profile in ("full", "tiny"):
        write_record(tmp_path, profile=profile, binary_bytes=len(profile))
    with serving(tmp_path) as server:
        browser.open(server.url)
        assert browser.errors == []
        choose = "(s => { s.value = 'tiny'; s.onchange() })(document.querySelector('select'))"
        browser.run(choose)
        answer_text = browser.run("document.querySelector('.answer').textContent")
        assert answer_text.endswith("1 of 1 configurations.")
        write_record(tmp_path, profile="third")
        until(browser, "document.querySelector('h1')?.textContent === '3 configurations'")
        until(browser, "document.querySelector('select')?.value === 'tiny'")
        link = browser.run("document.querySelector('li a').href")
        browser.open(link)
        check(browser, link, charts=3)  # sizes of parts are unknown


def until(page: chromium.Page, condition: str) -> None:
    end = time.monotonic() + 30
    while not page.run(condition):
        assert time.monotonic() < end, condition
        time.sleep(0.2)


@pytest.mark.slow
def test_pictures_of_the_readme_are_what_the_pages_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chromium.program()  # without one there is nothing to see
    monkeypatch.setattr(pictures, "folder", lambda: tmp_path)
    for drawn in some(pictures.draw()):
        shown = paths.root() / "docs" / "pictures" / drawn.name
        assert drawn.read_text() == shown.read_text(), "run ./inv docs --pictures"
        assert shown.stat().st_size < 100_000
