"""Accuracy budgets, and the report of a precision search."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from trimtab.accuracy import (
    Accuracy,
    AccuracyBound,
    OperatorTradeoff,
    Search,
    SearchCandidate,
    parse_budget,
)
from trimtab.errors import UsageError

FOUND = Accuracy(20, 0.02, 0.004, 0.9991, 0.99, 3e-4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("top1 >= 99 %", (AccuracyBound("top1", 0.99),)),
        ("top1>=0.99", (AccuracyBound("top1", 0.99),)),
        (" error <= 2% ", (AccuracyBound("error", 0.02),)),
        ("noise <= 0.01 %", (AccuracyBound("noise", 0.01 / 100),)),
        (str(AccuracyBound("noise", 3e-05)), (AccuracyBound("noise", 3e-05),)),
        (
            "cosine >= 0.999, error <= 0.1",
            (AccuracyBound("cosine", 0.999), AccuracyBound("error", 0.1)),
        ),
    ],
)
def test_a_budget_is_parsed(text: str, expected: tuple[AccuracyBound, ...]) -> None:
    assert parse_budget(text) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "malformed budget"),
        ("top1", "malformed budget"),
        ("top1 > 99 %", "malformed budget"),
        ("top5 >= 99 %", "malformed budget"),
        ("top1 >= 9.9.9", "malformed budget"),
        ("noise <= e-5", "malformed budget"),
        ("noise <= 1e-", "malformed budget"),
        ("top1 >= 99 %,", "malformed budget"),
        ("top1 <= 99 %", "top1 is bounded with >="),
        ("error >= 0.1", "error is bounded with <="),
        ("noise >= 0.1", "noise is bounded with <="),
        ("top1 >= 99", "top1 is between 0 and 1"),
    ],
)
def test_a_malformed_or_impossible_budget_is_refused(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as caught:
        parse_budget(text)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("top1 >= 99 %", True),
        ("top1 >= 99.1 %", False),
        ("error <= 0.02", True),
        ("error <= 0.019", False),
        ("cosine >= 0.9991", True),
        ("cosine >= 0.99911", False),
        ("noise <= 0.0003", True),
        ("noise <= 0.02 %", False),
    ],
)
def test_a_bound_includes_its_end(text: str, holds: bool) -> None:
    assert [demand.holds(FOUND) for demand in parse_budget(text)] == [holds]


def test_top1_without_scores_is_refused() -> None:
    with pytest.raises(UsageError, match="not a row of scores"):
        AccuracyBound("top1", 0.9).holds(Accuracy(1, 0, 0, 1, None))


def candidate(label: str, cycles: float, error: float) -> SearchCandidate:
    return SearchCandidate(label, 0, cycles, Accuracy(4, error, error, 1 - error, None))


SEARCH = Search(
    "error <= 0.02",
    "aarch64 cortex-a76",
    (
        *(candidate("f32", 8e6, 0), candidate("int8", 2e6, 0.05), candidate("worse", 4e6, 0.06)),
        candidate("1 of 3 in int8", 4e6, 0.01),
    ),
    3,
    (
        OperatorTradeoff("a", 0.03, 3e6, "f32"),
        OperatorTradeoff("b", 0.01, -1, "f32"),
        OperatorTradeoff("c", 0, 1, "int8"),
    ),
)


def test_the_front_is_pareto_optimal() -> None:
    assert [one.label for one in SEARCH.front()] == ["int8", "1 of 3 in int8", "f32"]


def test_a_search_reports_its_choice_and_the_reasons() -> None:
    messages = SEARCH.lines()
    assert messages[0].startswith("1 of 3 in int8: 50% of the modeled cycles")
    assert "within error <= 0.02" in messages[0]
    assert messages[1:] == ["int8 saves nothing: b", "the error of int8 is too large: a"]


def test_a_search_is_read_from_its_record() -> None:
    assert Search.of(asdict(SEARCH)) == SEARCH
    assert Accuracy.of({"event": "accuracy", **asdict(FOUND)}) == FOUND
