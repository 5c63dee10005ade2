"""The groups of options that commands share."""

from __future__ import annotations

import pytest

from trimtab.cli._options import BudgetOptions
from trimtab.errors import UsageError
from trimtab.pipeline.budget import Budget


def budget(model: str = "", binary: str = "", memory: str = "", prefer: str = "") -> Budget:
    options = BudgetOptions(max_model_bytes=model, max_binary_bytes=binary, max_memory=memory)
    return options.read(prefer)


def test_sizes_are_powers_of_1024() -> None:
    assert budget("4M", "512K") == Budget(4 << 20, 512 << 10, None)
    assert budget("", "80000", "1G") == Budget(None, 80_000, 1 << 30)


def test_limits_and_a_preference_exclude_each_other() -> None:
    assert not budget(prefer="size")
    with pytest.raises(UsageError, match="cannot be given"):
        budget("4M", prefer="size")


@pytest.mark.parametrize("text", ["0", "-1", "4 M", "1.5M", "M", "4m", "4MB", "٤", "0K"])
def test_a_malformed_size_is_refused_with_its_option(text: str) -> None:
    with pytest.raises(UsageError, match="--max-memory"):
        budget(memory=text)
