"""The order of operands."""

from __future__ import annotations

from tests.small_programs import Net
from trimtab import passes


def test_the_constant_operand_of_a_commutative_operator_becomes_the_second() -> None:
    net = Net(x=(1, 4))
    program = net.finish(net("sub", 2.0, net("add", 1.0, "x")))
    passes.passes()["canonicalize_operands"].run(program)
    assert program.ops[0].inputs[0] == "x"
    assert program.ops[1].inputs[0] != program.ops[0].outputs[0]
