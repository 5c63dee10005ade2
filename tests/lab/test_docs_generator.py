"""Generated parts of pages, and the committed results in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from invoke.context import Context
from invoke.exceptions import Exit
from markdown_it import MarkdownIt

import lab
from lab import committed
from lab.committed import Results
from lab.docs import generator as pages
from lab.docs.generator import PageBlock
from tasks import namespace
from tests.some import some
from trimtab.errors import FileAccessError, StalePagesError
from trimtab.tables import Column, Markup, Page, Table

ROOT = Path(__file__).resolve().parents[2]
MARK = "<!-- made by ./inv docs: {} -->"
END = "<!-- end -->"
PAGE = f"# Title\n\n{MARK.format('greeting')}\n\nold\n\n{END}\n\nby hand\n"


def numbers() -> Page:
    """A page with a headline: what is before the table, but for its caption and details."""
    table = Table([Column("number")], [("one",), ("two",)])
    index = "Two numbers. See [two](#two)."
    return ["Counted today.\nBy hand.", index, "In words:", table, "## two", "The last."]


@pytest.fixture(name="checkout")
def checkout_with_one_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    greeting = PageBlock("greeting", lambda: ["Hello.", Table([Column("a")], [("b",)])])
    many = PageBlock("many", numbers, "Many numbers")
    monkeypatch.setattr(pages, "blocks", lambda: {"greeting": greeting, "many": many})
    monkeypatch.setattr(lab, "FOLDER", tmp_path / "lab")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text(PAGE)
    return tmp_path / "docs" / "page.md"


def test_only_the_text_between_the_marks_is_replaced(checkout: Path) -> None:
    assert pages.renew() == [checkout]
    block = f"{MARK.format('greeting')}\n\nHello.\n\n| a   |\n| --- |\n| b   |\n\n{END}"
    assert checkout.read_text() == f"# Title\n\n{block}\n\nby hand\n"
    assert pages.renew() == []


def test_a_reference_is_a_page_and_stands_in_another_as_headline_and_link(checkout: Path) -> None:
    checkout.write_text(PAGE.replace("greeting", "many"))
    reference = checkout.parent / "reference" / "many.md"
    assert pages.renew() == [checkout, reference]
    headline = "Counted today.\nTwo numbers.\nSee [two](reference/many.md#two)."
    link = "`./inv docs` writes the page [Many numbers](reference/many.md)."
    block = f"{MARK.format('many')}\n{headline}\n{link}\n{END}"
    assert checkout.read_text() == f"# Title\n\n{block}\n\nby hand\n"
    origin = "`./inv docs` makes this page (`tests/lab/test_docs_generator.py`)."
    assert reference.read_text() == (
        f"# Many numbers\n\n{origin}\n[page.md](../page.md) explains it.\n\n"
        "Counted today.\nBy hand.\n\nTwo numbers.\nSee [two](#two).\n\nIn words:\n\n"
        "| number |\n| ------ |\n| one    |\n| two    |\n\n## two\n\nThe last.\n"
    )
    assert pages.renew() == []


def test_the_check_needs_no_page_that_git_ignores(checkout: Path) -> None:
    checkout.write_text(PAGE.replace("greeting", "many"))
    (_, reference) = pages.renew()
    reference.unlink()
    namespace["docs"].body(Context(), check=True)
    assert not reference.exists()


def test_a_page_of_a_reference_that_is_gone_is_removed(checkout: Path) -> None:
    checkout.write_text(PAGE.replace("greeting", "many"))
    (_, reference) = pages.renew()
    checkout.write_text(PAGE)
    pages.renew()
    assert not reference.exists()


def test_a_stale_page_fails_the_check_and_is_named(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Exit, match=re.escape(str(checkout))) as failed:
        namespace["docs"].body(Context(), check=True)
    assert failed.value.code == StalePagesError.exit_code
    assert checkout.read_text() == PAGE
    namespace["docs"].body(Context())
    assert str(checkout) in capsys.readouterr().out
    namespace["docs"].body(Context(), check=True)


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (PAGE.replace("greeting", "farewell"), "unknown block 'farewell'"),
        (PAGE.replace(END, ""), "has no end"),
        (PAGE.replace("old", MARK.format("greeting")), "has no end"),
        (PAGE.replace("greeting", "two words"), "invalid name"),
    ],
)
def test_the_error_of_a_broken_block_names_its_page(
    checkout: Path, page: str, message: str
) -> None:
    checkout.write_text(page)
    with pytest.raises(FileAccessError, match=message) as failed:
        pages.renew()
    assert failed.value.where == str(checkout)
    assert checkout.read_text() == page


def test_every_block_is_in_a_page() -> None:
    texts = [page.read_text() for page in pages.tracked()]
    for name in some(pages.blocks()):
        assert any(MARK.format(name) in text for text in texts), name


def test_a_generated_part_that_stands_in_a_page_is_short() -> None:
    """A longer one is a page of its own: it is declared by `reference`."""
    for name, item in some(pages.blocks().items()):
        assert item.title or len(item.text().splitlines()) <= 40, name


def rows_of(name: str) -> list[list[str]]:
    """The cells of all tables of a block, as a reader of Markdown sees them."""
    rows: list[list[str]] = []
    for token in MarkdownIt("commonmark").enable("table").parse(pages.blocks()[name].text()):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows and token.level > 3:
            rows[-1].append(token.content)
    return rows


def test_the_page_beside_other_engines_shows_every_committed_median() -> None:
    shown = rows_of("peers")
    for row in some(committed.read("peers").rows):
        cells = [cell for cells in shown if cells[0] == row["network"] for cell in cells]
        assert f"{row['median_ms']:.2f}" in cells, row


def test_the_page_of_sizes_shows_every_committed_byte() -> None:
    shown = rows_of("runner_sizes")
    for row in some(committed.read("sizes").rows):
        cells = [cell for cells in shown if cells[0] == row["network"] for cell in cells]
        assert f"{row['runner_bytes']:,}" in cells, row


def test_the_readme_has_the_size_of_the_demo_s_runner() -> None:
    (row,) = (
        row
        for row in committed.read("sizes").rows
        if (row["network"], row["cpu"]) == ("yolo_fastest", "cortex-a53")
    )
    assert f"{row['runner_bytes'] / 1000:.0f} KB" in (ROOT / "README.md").read_text()


def test_markdown_of_a_cell_stays_markdown_but_cannot_end_the_cell() -> None:
    drawn = Table([Column("a"), Column("b")], [(Markup("`x|y`"), "`z`")]).markdown()
    (token,) = (
        t for t in MarkdownIt("commonmark").enable("table").parse(drawn) if t.content == "`x|y`"
    )
    assert [child.type for child in token.children or []] == ["code_inline"]
    assert "\\`z\\`" in drawn


def test_a_cell_of_many_words_does_not_widen_the_others() -> None:
    lines = Table([Column("a")], [("short",), ("word " * 40,)]).markdown().splitlines()
    assert [len(line) for line in lines[:3]] == [len("| short |")] * 3


def test_the_overview_joins_committed_results_and_marks_missing_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a53: dict[str, Any] = {"cpu": "cortex-a53"}
    weighed = {"runner_bytes": 500_000, "onnx_bytes": 2_000_000, "ttm_bytes": 3_000_000}
    fewest = {"instructions_per_inference": 40_000_000}
    unknown = ("quartiles_ms", "minimum_ms", "start_ms", "beyond_weights_bytes")
    peer: dict[str, Any] = {"network": "net", "threads": 1, "error": 0, **dict.fromkeys(unknown)}
    rows: dict[str, list[dict[str, Any]]] = {
        "sizes": [{"network": name, **a53, **weighed} for name in ("net", "other")]
        + [{"network": "net", "cpu": "haswell", **weighed, "ttm_bytes": 9}],
        "instructions": [
            {"model": "net", **a53, "precision": precision, "instructions_per_inference": count}
            for precision, count in (("f32", 30_000_000), ("int8", 10_000_000))
        ],
        "instructions/peers": [
            {**a53, "engine": "ncnn", "model": "net", "precision": "f32", **fewest}
        ],
        "time_model": [
            {"model": "net", **a53, "threads": 1, "read_bytes": 5e6, "written_bytes": 1e6}
        ],
        "peers": [
            {**peer, "engine": "ncnn", "median_ms": 4.0, "peak_bytes": 8, "shipped_bytes": 1e6},
            {**peer, "engine": "trimtab", "median_ms": 2.0, "peak_bytes": 4, "shipped_bytes": 0},
        ],
    }

    def read(name: str) -> Results:
        return Results(command="", versions={}, rows=rows[name])

    monkeypatch.setattr(committed, "read", read)
    text = pages.blocks()["overview"].text()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()[-2:]]
    assert cells == [
        ["net", "3.50", "2.00", "1.00", "30", "0.75", "6.0", "0.50", "0.50"],
        ["other", "3.50", "2.00", "-", "-", "-", "-", "-", "-"],
    ]
