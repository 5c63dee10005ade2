"""The check of words: each rule reports its violations and accepts correct text."""

from __future__ import annotations

import pytest

from lab.dev import words

GLOSSARY = """| Term | Meaning here | Not |
|---|---|---|
| float32 | 32-bit floating point. | real numbers; reals |
| tensor | An array. | |
"""
ROWS = words.replacements(GLOSSARY)


def messages(path: str, source: str) -> list[str]:
    return [finding.message for finding in words.findings(path, source, ROWS)]


def test_the_glossary_lists_the_words_that_its_terms_replace() -> None:
    assert [row.term for row in ROWS] == ["float32", "float32"]


@pytest.mark.parametrize("opening", words.OPENINGS)
def test_a_docstring_without_a_subject_is_reported(opening: str) -> None:
    source = f'def f() -> None:\n    """{opening} a run is."""\n'
    assert messages("a.py", source) == [f"docstring begins with {opening!r}: name its subject"]


@pytest.mark.parametrize("source", ["found = 1\n", "def f(found: int) -> None: ...\n"])
def test_a_participle_as_a_name_is_reported(source: str) -> None:
    assert messages("a.py", source) == ["`found` does not say what the value is"]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.py", "x = 1  # of real numbers\n"),
        ("a.py", '"""A tensor of\nreal numbers."""\n'),
        ("a.cpp", "int x;  // Real numbers.\n"),
        ("a.h", "/* reals */\n"),
        ("a.toml", 'doc = "Adds real numbers."\n'),
        ("a.sh", "# reals\n"),
        ("a.md", "It adds reals.\n"),
    ],
)
def test_a_replaced_word_is_reported_in_every_kind_of_file(path: str, source: str) -> None:
    (message,) = messages(path, source)
    assert message.endswith("write 'float32' (docs/glossary.md)")


def test_british_spelling_is_reported() -> None:
    assert messages("a.py", "# quantised\n") == ["'quantised': write it in American spelling"]


def test_a_page_line_with_two_sentences_is_reported() -> None:
    assert messages("a.md", "One is here. Two is there.\n") == ["write one sentence per line"]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.py", '"""Sum of two tensors."""\ntotal = 1  # float32\n'),
        ("a.md", "One is here.\nSee `a. B`, e.g. Two.\n\n| a. B | c |\n* One. Two.\n"),
        ("a.md", "```\nreal numbers. Two\n```\n"),
    ],
)
def test_correct_text_is_accepted(path: str, source: str) -> None:
    assert messages(path, source) == []
