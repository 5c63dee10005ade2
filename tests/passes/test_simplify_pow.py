"""Powers with constant exponents."""

from __future__ import annotations

import numpy as np
import pytest

from tests.small_programs import Net, after, types


@pytest.mark.parametrize(("exponent", "left"), [(2.0, ["mul"]), (1.0, ["neg"]), (0.5, ["pow"])])
def test_a_square_is_a_product(exponent: float, left: list[str]) -> None:
    net = Net(x=(2, 3))
    x = net("neg", "x") if exponent == 1.0 else net("abs", "x") if exponent == 0.5 else "x"
    program = after(net.finish(net("pow", x, exponent)), "simplify_pow")
    assert types(program)[-1:] == left


def test_an_exponent_that_enlarges_the_shape_remains() -> None:
    net = Net(x=(1, 3))
    y = net("pow", "x", np.full((2, 1), 2.0, np.float32))
    assert types(after(net.finish(y), "simplify_pow")) == ["pow"]
