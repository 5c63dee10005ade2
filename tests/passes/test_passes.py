"""The sequence of passes."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import trimtab
from tests.small_programs import Net, normal, types
from trimtab import passes


def test_passes_have_unique_ascending_orders_and_docstrings() -> None:
    orders = [p.ORDER for p in passes.passes().values()]
    assert orders == sorted(set(orders))
    for name in passes.passes():
        assert importlib.import_module(f"trimtab.passes.{name}").__doc__


def test_optimizing_copies_the_program_and_records_the_passes() -> None:
    net = Net(x=(1, 4, 5, 5))
    program = net.finish(net("relu", net.conv("x", 8)))
    optimized = passes.optimize(program)
    assert types(program) == ["conv", "relu"]
    assert optimized.source is program
    assert optimized.passes == list(passes.passes())
    assert not program.passes


def test_an_optimized_program_is_not_optimized_again() -> None:
    net = Net(x=(1, 4, 5, 5))
    once = passes.optimize(net.finish(net.conv("x", 8)))
    twice = passes.optimize(once)
    assert types(twice) == types(once)
    assert twice.passes == once.passes
    assert twice.source is once.source


def test_a_session_computes_the_results_of_the_unoptimized_network() -> None:
    net = Net(x=(1, 3, 9, 11))
    x = net("relu", net.conv("x", 8, 3))
    y = net("add", net.conv(x, 8, 3, group=8), x)
    program = net.finish(net("softmax", net("reshape", y, shape=[1, 8 * 99]), axis=1))
    inputs = {"x": normal(1, 3, 9, 11)}
    (result,) = trimtab.Session(program).run(inputs).values()
    assert result.shape == (1, 792)
    assert result.sum() == pytest.approx(1, abs=1e-5)


def test_the_documentation_lists_every_pass_in_order(root: Path) -> None:
    (line,) = re.findall(r"^\d+ passes, .*", (root / "docs" / "passes.md").read_text(), re.M)
    assert re.findall(r"`(\w+)`", line) == list(passes.passes())
