"""Result records and their index: immutable, complete or refused, found again."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.bench.fakes import make_header, write_record
from tests.disks import small_disk
from trimtab.errors import ResultError, TruncatedResultError, UsageError
from trimtab.results import index, records
from trimtab.results.records import Status, Writer
from trimtab.results.summary import summarize


def test_a_record_reads_back_as_it_was_written(tmp_path: Path) -> None:
    path = write_record(tmp_path, samples=[5, 6, 7])
    record = records.read(path)
    assert record.status is Status.OK
    assert record.header.run_id in path.name
    assert [event["ns"] for event in record.of("run")] == [5, 6, 7]
    assert record.header == make_header() or record.header.model.name == "net.ttm"
    assert not list(tmp_path.glob("*.part"))


def test_the_end_of_a_record_has_its_duration_in_milliseconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter((100.0, 103.14159265))
    monkeypatch.setattr(records, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    with Writer(tmp_path, make_header()) as writer:
        writer.end(Status.OK)
    end = json.loads(writer.path.read_text().splitlines()[-1])
    assert (end["event"], end["seconds"]) == ("end", 3.142)


def test_a_run_of_format_1_reads_as_one_launch(tmp_path: Path) -> None:
    path = write_record(tmp_path, samples=[5, 6, 7])
    text = path.read_text().replace('"format":2', '"format":1', 1)
    path.write_text("".join(line for line in text.splitlines(True) if '"launch"' not in line))
    (launch,) = records.read(path).launches()
    assert [event["ns"] for event in launch if event["event"] == "run"] == [5, 6, 7]
    latency = summarize(records.read(path)).figure("latency")
    assert latency is not None
    assert latency.launches == ((5, 6, 7),)


def test_a_run_that_is_interrupted_leaves_nothing_behind(tmp_path: Path) -> None:
    def interrupted() -> None:
        with Writer(tmp_path, make_header()) as writer:
            writer.event({"event": "run", "i": 0, "ns": 1, "instructions": None})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


PAGE_BYTES = 4096


def write_on_a_disk_with(free_pages: int, disk: Path) -> Path:
    """A record of 10 kB of header and 14 kB of samples."""
    room = os.statvfs(disk).f_bavail - free_pages
    (disk / "other").write_bytes(bytes(room * PAGE_BYTES))
    header = dataclasses.replace(make_header(), flags=["-fan-option"] * 800)
    with Writer(disk / "results", header) as writer:
        for i in range(300):
            writer.event({"event": "run", "i": i, "ns": 1, "instructions": None})
        writer.end(Status.OK)
    return writer.path


@pytest.mark.parametrize("free_pages", range(6))
def test_a_disk_that_fills_up_is_named_and_nothing_is_left(tmp_path: Path, free_pages: int) -> None:
    with small_disk(tmp_path / "disk", 48 * 1024) as disk:
        with pytest.raises(ResultError, match="No space left") as refused:
            write_on_a_disk_with(free_pages, disk)
        assert refused.value.where.startswith(f"{disk}/results/2")
        assert "free some space" in refused.value.hint
        assert list(disk.glob("results/*")) == []


def test_a_disk_that_fills_up_later_has_the_whole_record(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 48 * 1024) as disk:
        path = write_on_a_disk_with(8, disk)
        assert records.read(path).status is Status.OK
        assert list(disk.glob("results/*")) == [path]


def test_a_record_is_not_visible_before_its_end(tmp_path: Path) -> None:
    with Writer(tmp_path, make_header()) as writer:
        assert not writer.path.exists()
        writer.end(Status.OK)
        assert writer.path.exists()


@pytest.mark.parametrize("status", Status)
def test_the_page_explains_every_status(status: Status) -> None:
    root = Path(__file__).resolve().parents[2]
    (row,) = re.findall(rf"^\| `{status}` \| (.*) \|$", (root / "docs/bench.md").read_text(), re.M)
    sources = [path.read_text() for path in (root / "trimtab").rglob("*.py")]
    is_set = any(f"Status.{status}" in source for source in sources)
    assert row.startswith("reserved") != is_set


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    path = write_record(tmp_path)
    whole = path.read_bytes()
    header = whole.index(b"\n") + 1
    for end in range(header, len(whole)):
        path.write_bytes(whole[:end])
        with pytest.raises(TruncatedResultError):
            records.read(path)
    for end in (0, 1, header - 1):
        path.write_bytes(whole[:end])
        with pytest.raises(ResultError):
            records.read(path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "not json\n" + text,
        lambda text: text.replace('"event":"header"', '"event":"run"', 1),
        lambda text: text.replace('"format":2', '"format":3', 1),
        lambda text: text.replace('"profile"', '"profil"', 1),
        lambda text: text.replace('"status":"OK"', '"status":"GREAT"', 1),
        lambda text: text.replace('"sha256"', '"sha1"', 1),
        lambda text: "[]\n" + text,
        lambda text: "\x00" + text,
        lambda _: json.dumps({"event": "header", "format": 1}) + '\n{"event":"end"}\n',
    ],
)
def test_a_damaged_record_is_refused(tmp_path: Path, damage: object) -> None:
    path = write_record(tmp_path)
    assert callable(damage)
    path.write_text(damage(path.read_text()))
    with pytest.raises(ResultError) as caught:
        records.read(path)
    assert str(path) in str(caught.value)


def test_a_missing_record_and_a_binary_file_are_refused(tmp_path: Path) -> None:
    noise = tmp_path / "noise.jsonl"
    noise.write_bytes(bytes(range(256)))
    for path in (tmp_path / "none.jsonl", tmp_path, noise):
        with pytest.raises(ResultError):
            records.read(path)


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultError, match="cannot be written"):
        Writer(tmp_path / "file", make_header())


def test_the_index_lists_runs_in_order_and_follows_the_folder(tmp_path: Path) -> None:
    first = write_record(tmp_path, profile="full")
    second = write_record(tmp_path, profile="tiny", status=Status.INFRA)
    assert [run.profile for run in index.entries(tmp_path)] == ["full", "tiny"]
    assert [run.status for run in index.entries(tmp_path)] == ["OK", "INFRA"]
    first.unlink()
    assert [run.file_name for run in index.entries(tmp_path)] == [second.name]


def test_the_index_can_be_deleted_or_damaged(tmp_path: Path) -> None:
    write_record(tmp_path, samples=[7, 8, 9])
    before = index.entries(tmp_path)
    assert before[0].headline == 8
    (tmp_path / index.FILE_NAME).write_bytes(b"not a database" * 100)
    assert index.entries(tmp_path) == before
    with closing(sqlite3.connect(tmp_path / index.FILE_NAME)) as database, database:
        database.execute("PRAGMA user_version = 99")
    assert index.entries(tmp_path) == before


def test_the_index_shows_truncated_runs_and_ignores_other_files(tmp_path: Path) -> None:
    path = write_record(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    (tmp_path / "notes.jsonl").write_text("hello\n")
    assert [run.status for run in index.entries(tmp_path)] == [index.TRUNCATED]


def test_runs_are_found_by_path_id_and_age(tmp_path: Path) -> None:
    paths = [write_record(tmp_path) for _ in range(3)]
    assert index.find(str(paths[0]), tmp_path) == paths[0]
    run_id = records.read(paths[1]).header.run_id
    assert index.find(run_id, tmp_path) == paths[1]
    assert index.find("last", tmp_path) == paths[2]
    assert index.find("last~2", tmp_path) == paths[0]
    for wrong in ("last~3", "last~x", "zzz", ""):
        with pytest.raises(UsageError):
            index.find(wrong, tmp_path)
    with pytest.raises(UsageError, match="no runs"):
        index.find("last", tmp_path / "nowhere")


def test_discarded_launches_do_not_count_and_stay_in_the_record(tmp_path: Path) -> None:
    with Writer(tmp_path, make_header()) as writer:
        for index, ns in enumerate((10, 20, 30)):
            writer.event({"event": "launch", "index": index, "at_s": 0.0})
            writer.event({"event": "run", "i": 0, "ns": ns, "instructions": None})
            if index == 1:
                writer.event({"event": "resumed", "why": "the link broke", "discarded": [1]})
                writer.event({"event": "push", "name": "net.ttm"})
        writer.end(Status.OK)
    record = records.read(writer.path)
    assert [launch[0]["index"] for launch in record.launches()] == [0, 2]
    assert [event["ns"] for event in record.of("run")] == [10, 30]
    assert [event["ns"] for event in record.events if event["event"] == "run"] == [10, 20, 30]
    assert len(record.of("push")) == 1, "of no launch"
    (note,) = summarize(record).losses
    assert note.endswith("(the link broke): 1 launch discarded.")


def test_a_figure_with_a_null_in_any_sample_is_unknown(tmp_path: Path) -> None:
    path = write_record(tmp_path, samples=[5, 6, 7], instructions=9)
    text = path.read_text()
    key = "latency_instructions"
    assert summarize(records.read(path)).figure(key) is not None
    lines = text.splitlines(True)
    at = next(i for i, line in enumerate(lines) if '"event":"run"' in line)
    lines[at] = lines[at].replace('"instructions":9', '"instructions":null')
    path.write_text("".join(lines))
    assert summarize(records.read(path)).figure(key) is None
