"""Constant folding."""

from __future__ import annotations

from tests.small_programs import Net, after, normal, types


def test_operators_of_constants_are_computed() -> None:
    net = Net(x=(2, 3))
    c = net("exp", net("add", normal(3), normal(2, 3)))
    program = after(
        net.finish(
            net(
                "mul",
                "x",
                net("transpose", net("transpose", c, permutation=[1, 0]), permutation=[1, 0]),
            )
        ),
        "fold_constants",
    )
    assert types(program) == ["mul"]
    assert len(program.vars) == 3


def test_a_constant_that_would_enlarge_the_file_is_not_computed() -> None:
    net = Net(x=(1, 300, 300))
    big = net("expand", normal(1, 1, 300), shape=[1, 300, 300])
    program = after(net.finish(net("add", "x", big)), "fold_constants")
    assert types(program) == ["expand", "add"]


def test_folding_ends_at_the_memory_limit() -> None:
    net = Net(x=(1, 1024))
    a, b = net("neg", normal(1, 2**17)), net("neg", normal(1, 2**17))  # 512 KB each
    for _ in range(7):  # twice as many elements every time, and no result larger than its operands
        a, b = net("concat", a, b, axis=1), net("concat", b, a, axis=1)
    y = net("add", "x", net("slice", a, starts=[0], ends=[1024], axes=[1], steps=[1]))
    program = after(net.finish(y), "fold_constants")
    assert sum(var.bytes for var in program.constants()) <= 64 << 20
    assert "concat" in types(program)
