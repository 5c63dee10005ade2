"""`report` as a user types it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.fakes import write_record

ROOT = Path(__file__).resolve().parents[2]


def inv(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "trimtab.cli", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for profile in ("full", "tiny", "third"):
        write_record(tmp_path, profile=profile)
    return tmp_path


def test_report_takes_as_many_runs_as_are_named(folder: Path) -> None:
    one = inv("report", "last", "--results", str(folder))
    assert one.stdout.startswith("net / third / pi4\n")
    three = inv(
        "report", "--format", "markdown", "last", "last~1", "last~2", "--results", str(folder)
    )
    assert three.stdout.startswith("# third against tiny against full\n")


def test_report_without_a_run_lists_them_all(folder: Path) -> None:
    listed = inv("report", f"--results={folder}").stdout
    assert [word for word in ("full", "tiny", "third") if word in listed] == [
        "full",
        "tiny",
        "third",
    ]
    assert "no runs" in inv("report", "--results", str(folder / "none")).stdout


def test_the_suffix_of_a_report_chooses_its_format_with_and_without_runs(folder: Path) -> None:
    for runs in ([], ["last"]):
        page = folder / f"{len(runs)}.html"
        done = inv("report", *runs, "--output", str(page), "--results", str(folder))
        assert done.returncode == 0, done.stderr
        assert page.read_text().startswith("<!DOCTYPE html>")


def test_compare_writes_a_file_that_is_complete(folder: Path) -> None:
    page = folder / "deep" / "page.html"
    done = inv(
        "report", "last~1", "last", "--format=html", "-o", str(page), "--results", str(folder)
    )
    assert done.returncode == 0, done.stderr
    assert page.read_text().endswith("</html>\n")
    assert not list(page.parent.glob("*.part"))


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["report", "nonsense"], 2, "no runs match 'nonsense'"),
        (["report", "last", "--format", "pdf"], 2, "unknown report format 'pdf'"),
        (["report", "last", "nonsense"], 2, "no runs match"),
        (["report", "last", "-o", "/proc/x/report.md"], 41, "cannot be written"),
    ],
)
def test_a_wrong_request_is_one_message_and_an_exit_code(
    folder: Path, words: list[str], code: int, says: str
) -> None:
    done = inv(*words, "--results", str(folder))
    assert done.returncode == code
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_truncated_run_has_its_own_exit_code(folder: Path) -> None:
    path = next(folder.glob("*tiny*.jsonl"))
    path.write_bytes(path.read_bytes()[:-9])
    done = inv("report", str(path))
    assert done.returncode == 42
    assert "measure again" in done.stderr
