"""Pages that do not follow from the committed results are refused, and results that were edited."""

from __future__ import annotations

from pathlib import Path

import pytest
from invoke.context import Context
from invoke.exceptions import Exit

import lab
from lab import committed
from lab.committed import Results
from lab.docs import generator
from lab.docs.generator import PageBlock
from lab.verification import evidence
from tasks import namespace
from tests.some import some
from trimtab.errors import FileAccessError
from trimtab.tables import Column, Table

ROWS = [{"network": "a", "p50_ms": 2.5}, {"network": "b", "p50_ms": 7.25}]
VERIFY = namespace["lab.verify"]


@pytest.fixture(name="page")
def page_with_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page of a checkout that has one result file."""

    def times() -> Table:
        rows = [(row["network"], row["p50_ms"]) for row in committed.read("times").rows]
        return Table([Column("network"), Column("ms")], rows)

    monkeypatch.setattr(lab, "FOLDER", tmp_path / "lab")
    block = PageBlock("times", lambda: [times()])
    monkeypatch.setattr(generator, "blocks", lambda: {"times": block})
    committed.write("times", Results(command="./inv bench.times", versions={}, rows=ROWS))
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text("# Times\n\n<!-- made by ./inv docs: times -->\n<!-- end -->\n")
    generator.renew()
    return page


def refused() -> str:
    with pytest.raises(Exit) as exit:
        VERIFY(Context())
    return str(exit.value)


def test_pages_that_follow_from_the_results_are_confirmed(
    page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    VERIFY(Context())
    printed = capsys.readouterr().out
    assert "lab/times/result.json" in printed
    assert "Every generated line" in printed


def test_the_first_row_of_a_page_that_differs_is_named(page: Path) -> None:
    page.write_text(page.read_text().replace("| 7.25", "| 6.25"))
    message = refused()
    assert "docs/page.md:8: block times" in message
    assert "there: | b       | 6.25 |\n  right: | b       | 7.25 |" in message


@pytest.mark.parametrize(("old", "new"), [("7.25", "6.25"), ("bench.times", "bench.time")])
def test_a_result_that_was_edited_is_refused(page: Path, old: str, new: str) -> None:
    path = committed.path_of("times")
    path.write_text(path.read_text().replace(old, new))
    assert f"{path}: the committed results cannot be read: they are not those" in refused()
    with pytest.raises(FileAccessError):  # so that `./inv docs` writes no page from it
        generator.renew()


def test_what_the_rows_of_a_result_are_is_told() -> None:
    def kind(command: str, **row: object) -> str:
        return evidence.kind(Results(command=command, versions={}, rows=[row]))

    assert kind("./inv x", p50_ns=4.0) == kind("./inv x", ratio=1.1) == evidence.TIMES
    assert kind("./inv x", count=4, p50_ns=None) == evidence.COUNTS
    assert kind("", ms=4.0) == evidence.GATHERED
    samples = {"ms": [[1_000_000, 3_000_000], [2_000_000, 2_400_000]]}
    assert kind("./inv x", ms=2.2, samples=samples) == evidence.SAMPLES


@pytest.mark.parametrize(
    ("ms", "waited", "wrong"),
    [
        (2.2, 0.0, ""),  # the median of all
        (2.0, 0.5, ""),  # that of the fastest round, on a busy machine
        (2.1, 0.0, "ms is 2.1, by its samples 2.2"),
    ],
)
def test_times_follow_from_their_samples(ms: float, waited: float, wrong: str) -> None:
    samples = {"ms": [[1_000_000, 3_000_000], [2_000_000, 2_400_000]]}
    row = {"ms": ms, "waited": waited, "samples": samples}
    assert evidence.unfounded(Results(command="./inv x", versions={}, rows=[row])) == wrong


def test_every_result_of_this_checkout_is_as_its_command_wrote_it() -> None:
    for name in some([*committed.names()]):
        assert committed.read(name).sha256
