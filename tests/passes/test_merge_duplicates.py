"""Common subexpression elimination."""

from __future__ import annotations

from tests.small_programs import Net, types
from trimtab import passes


def test_equal_operators_are_merged() -> None:
    net = Net(x=(1, 4))
    a, b = net("exp", "x"), net("exp", "x")
    program = net.finish(net("add", net("neg", a), net("neg", b)))
    passes.passes()["merge_duplicates"].run(program)
    assert types(program) == ["exp", "neg", "add"]


def test_operators_with_different_attributes_are_not_merged() -> None:
    net = Net(x=(1, 4))
    program = net.finish(net("add", net("elu", "x", alpha=1.0), net("elu", "x", alpha=0.5)))
    passes.passes()["merge_duplicates"].run(program)
    assert types(program) == ["elu", "elu", "add"]
