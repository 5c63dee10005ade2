"""Records that somebody else wrote: no text in them does anything in a report.

Every text of a record is replaced by payloads, and every format is read by a reader of that format.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.hostile_text import (
    ALL,
    PAYLOADS,
    check_csv,
    check_displayed,
    check_html,
    check_json,
    check_markdown,
    check_xml,
)
from tests.page_data import page_data
from tests.reports import hostile_record
from tests.reports.hostile_record import Events, Leaf
from tests.some import some
from trimtab import reports
from trimtab.compare import side_by_side, verdicts
from trimtab.errors import ResultError, TrimtabError, UsageError
from trimtab.reports import html_page
from trimtab.results import export, index, records, summary
from trimtab.results.folder import runs_table
from trimtab.results.records import Status
from trimtab.results.summary import Summary


@pytest.fixture(autouse=True)
def pages_without_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without their scripts and style, whose code is ours and long."""
    monkeypatch.setattr(html_page, "asset", lambda name: "")


def _page(text: str) -> list[str]:
    """The tags of a page; the data of its scripts is JSON."""
    for one in page_data(text):
        check_displayed_in(check_json(one))
    return check_html(text).names


def check_displayed_in(value: Any) -> None:
    if isinstance(value, str):
        check_displayed(value)
    elif isinstance(value, list):
        for item in value:
            check_displayed_in(item)
    elif isinstance(value, dict):
        check_displayed_in(list(value.values()))


# What a reader of each format finds: the same for harmless and for hostile texts.
READERS: dict[str, Callable[[str], object]] = {
    "html": _page,
    "json": lambda text: sorted(check_json(text)),
    "markdown": lambda text: check_markdown(text).names,
    "terminal": lambda text: None,
    "csv": lambda text: len(check_csv(text)),
    "bloaty": lambda text: len(check_csv(text)),
    "junit": check_xml,
    "bencher": lambda text: len(check_json(text)),
    "github-action-benchmark": lambda text: len(check_json(text)),
    "google-benchmark": lambda text: len(check_json(text)["benchmarks"]),
    "trace": lambda text: len(check_json(text)["traceEvents"]),
}
# The texts that decide how a record is read; another of them, at place 1, is a source's kind.
DECISIVE = {"event", "status", "format"}


def all_formats(run: Summary, other: Summary) -> dict[str, object]:
    """The result of each reader for the reports of a run, alone and beside another."""
    results: dict[str, object] = {}
    compared = side_by_side.Comparison((other, run), (), ())
    for name, reader in READERS.items():
        form = reports.find(name)
        for kind, text in (("run", form.run(run)), ("comparison", form.comparison(compared))):
            check_displayed(text)
            results[f"{name} {kind}"] = reader(text)
    for name in ("html", "terminal"):
        text = reports.find_overview(name).cells([run, other])
        check_displayed(text)
        results[f"{name} overview"] = READERS[name](text)
    return results


def test_every_format_has_a_reader() -> None:
    assert sorted(READERS) == reports.names()


def leaves(events: Events) -> list[Leaf]:
    """The texts of the events, one of each kind: samples and operators repeat."""
    kinds: dict[tuple[object, ...], Leaf] = {}
    for leaf in hostile_record.texts(events):
        event = events[int(leaf[0])]["event"]
        if leaf[-1] in DECISIVE or (event == "energy" and leaf[-1] == 1):
            continue
        kinds.setdefault((event, *(key for key in leaf[1:] if isinstance(key, str))), leaf)
    return list(kinds.values())


@pytest.fixture
def source(tmp_path: Path) -> Events:
    return hostile_record.events(tmp_path)


def read(directory: Path, events: Events) -> Summary:
    return summary.summarize(records.read(hostile_record.write(directory, events)))


def check_formats(directory: Path, events: Events, places: Sequence[Leaf], payload: str) -> None:
    """With a payload at these places, readers find what they find with a harmless text there."""
    other = read(directory, events)
    results = []
    for text in ("harmless", payload):
        changed = events
        for leaf in places:
            changed = hostile_record.poisoned(changed, leaf, text)
        results.append(all_formats(read(directory, changed), other))
    assert results[1] == results[0], places


def test_every_text_of_a_record_is_text_in_every_format(tmp_path: Path, source: Events) -> None:
    places = leaves(source)
    assert len(places) > 40
    for leaf in places:
        check_formats(tmp_path, source, [leaf], ALL)


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_a_failed_run_of_one_payload_is_text_in_every_format(payload: str, tmp_path: Path) -> None:
    failed = hostile_record.events(tmp_path, Status.FAILED)
    check_formats(tmp_path, failed, [*leaves(failed), (-1, "message")], payload)


def test_the_list_and_the_export_of_hostile_runs_are_text(tmp_path: Path, source: Events) -> None:
    for leaf in leaves(source):
        source = hostile_record.poisoned(source, leaf, ALL)
    hostile_record.write(tmp_path, source)
    check_displayed(runs_table(tmp_path).text())
    columns, rows = index.query("", tmp_path)
    assert len(rows) == 1
    check_displayed(export.table(columns, rows).text())
    check_csv(export.as_csv(columns, rows))


def test_formats_that_refuse_a_run_say_so_and_nothing_else(tmp_path: Path, source: Events) -> None:
    source[0]["is_emulated"] = True
    run = summary.summarize(records.read(hostile_record.write(tmp_path, source)))
    with pytest.raises(UsageError, match="has none"):
        reports.find("trace").run(run)


def values(value: Any, at: Leaf = ()) -> Iterator[Leaf]:
    """The place of every value in the events that is not a text, lists and objects included."""
    if isinstance(value, dict | list):
        yield at
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from values(item, (*at, key))
    elif not isinstance(value, str):
        yield at


@pytest.mark.parametrize("other", ["text", None, [], {"a": 1}, -1, 1.5, [None]], ids=str)
def test_a_record_with_a_wrong_type_is_refused_or_shown(
    other: Any, tmp_path: Path, source: Events
) -> None:
    """A reader never fails with anything but an error of trimtab."""
    kinds: dict[tuple[object, ...], Leaf] = {}
    for leaf in values(source):
        if len(leaf) > 1:
            keys = (key for key in leaf[1:] if isinstance(key, str))
            kinds.setdefault((source[int(leaf[0])]["event"], *keys, len(leaf)), leaf)
    for leaf in some(kinds.values()):
        changed: Any = hostile_record.poisoned(source, leaf, other)
        with contextlib.suppress(TrimtabError):
            run = read(tmp_path, changed)
            for name in ("html", "terminal"):  # which read all that there is
                check_displayed(reports.find(name).run(run))


def places(value: object, at: Leaf = ()) -> Iterator[Leaf]:
    """The place of every value in a list or an object, of lists the first item."""
    if at:
        yield at
    items = value.items() if isinstance(value, dict) else []
    for key, item in [*items, *enumerate(value[:1] if isinstance(value, list) else [])]:
        yield from places(item, (*at, key))


@pytest.mark.parametrize("value", ["x", 10**30, [[1]], {"a": 2e9}, math.nan, 1e308], ids=repr)
def test_a_value_of_another_kind_is_no_crash(value: object, tmp_path: Path, source: Events) -> None:
    """In the fields that the index, overviews and verdicts take apart."""
    protocol = [(0, "protocol", *at) for at in places(source[0]["protocol"])]
    at_run, at_op = ([event["event"] for event in source].index(kind) for kind in ("run", "op"))
    spans = [(at_op, "ns"), (at_run, "ns"), (at_run, "counters", 0), (at_run, "counters", 0, 0)]
    for leaf in [*protocol, *spans, (0, "model", "file_bytes"), (-1, "seconds")]:
        path = hostile_record.write(tmp_path, hostile_record.poisoned(source, leaf, value))
        (tmp_path / index.FILE_NAME).unlink(missing_ok=True)
        runs_table(tmp_path).text()
        with contextlib.suppress(TrimtabError):
            record = records.read(path)
            run = summary.summarize(record)
            reports.find_overview("html").cells([run])
            for form in ("html", "trace"):
                reports.find(form).run(run)
            assert not verdicts.belong_together([record, record])
            verdicts.judge(record, record)


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    (tmp_path / "deep.jsonl").write_text('{"event":"header","x":' + "[" * 200_000 + "\n")
    (tmp_path / "null.jsonl").symlink_to("/dev/null")
    (tmp_path / "folder.jsonl").mkdir()
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(ResultError, match=r"is not JSON|it is not a file"):
            records.read(path)
    assert "null" not in runs_table(tmp_path).text()
