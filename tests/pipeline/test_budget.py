"""Budgets: the fastest candidate that fits, and the error if none does."""

from __future__ import annotations

import re

import pytest

from trimtab.errors import BudgetError
from trimtab.pipeline.budget import Budget
from trimtab.results.footprint import Footprint

CANDIDATES = [
    ("load", Footprint("prefer load", 3_000_000, memory_bytes=4_000_000)),
    ("balanced", Footprint("prefer balanced", 1_100_000, memory_bytes=3_900_000)),
    ("size", Footprint("prefer size", 1_000_000, memory_bytes=4_500_000)),
]
BINARIES = {"load": 60_000, "balanced": 90_000, "size": 70_000}


def chosen(budget: Budget) -> str:
    return budget.choose(CANDIDATES, lambda name: BINARIES[name])[0]


@pytest.mark.parametrize(
    ("budget", "name"),
    [
        (Budget(model_bytes=3_000_000), "load"),
        (Budget(model_bytes=2_999_999), "balanced"),
        (Budget(memory_bytes=3_950_000), "balanced"),
        (Budget(model_bytes=1_000_000), "size"),
        (Budget(model_bytes=2_000_000, binary_bytes=70_000), "size"),
        (Budget(binary_bytes=60_000), "load"),
    ],
)
def test_the_fastest_candidate_within_all_limits_is_chosen(budget: Budget, name: str) -> None:
    assert chosen(budget) == name


def test_binaries_are_built_only_if_they_are_limited_and_until_one_fits() -> None:
    built = []

    def build(name: str) -> int:
        built.append(name)
        return BINARIES[name]

    Budget(model_bytes=1_000_000).choose(CANDIDATES, build)
    assert built == []
    Budget(model_bytes=1_500_000, binary_bytes=100_000).choose(CANDIDATES, build)
    assert built == ["load", "balanced"]


def test_the_error_has_the_excess_of_every_candidate() -> None:
    budget = Budget(model_bytes=999_000, binary_bytes=80_000, memory_bytes=4_200_000)
    with pytest.raises(BudgetError) as caught:
        chosen(budget)
    assert (
        "prefer size comes nearest, 1,000 bytes over --max-model-bytes and "
        "300,000 bytes over --max-memory\n"
    ) in str(caught.value)
    rows = [re.split(" {2,}", row) for row in str(caught.value).splitlines() if "prefer" in row]
    assert rows[1:] == [
        ["prefer load", "3,000,000", "2,001,000", "60,000", "fits", "4,000,000", "fits"],
        ["prefer balanced", "1,100,000", "101,000", "90,000", "10,000", "3,900,000", "fits"],
        ["prefer size", "1,000,000", "1,000", "70,000", "fits", "4,500,000", "300,000"],
    ]


def test_a_budget_without_limits_is_false() -> None:
    assert not Budget()
    assert Budget(memory_bytes=1)
