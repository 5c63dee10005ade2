"""Transposes of the right operand of a product."""

from __future__ import annotations

from tests.small_programs import Net, after, types


def test_a_transposed_right_operand_is_read_as_it_is() -> None:
    net = Net(a=(2, 5, 7), b=(2, 3, 7))
    y = net("mat_mul", "a", net("transpose", "b", permutation=[0, 2, 1]))
    program = after(net.finish(y), "fuse_transpose")
    assert types(program) == ["mat_mul"]
    assert program.ops[0].attributes["transpose_b"]


def test_two_transposes_cancel() -> None:
    net = Net(a=(5, 7), b=(7, 3))
    once = net("transpose", "b", permutation=[1, 0])
    y = net("mat_mul", "a", once, transpose_b=True)
    program = after(net.finish(y), "fuse_transpose")
    assert types(program) == ["mat_mul"]
    assert not program.ops[0].attributes["transpose_b"]


def test_heads_are_moved_in_whole_rows() -> None:
    net = Net(a=(1, 4, 6, 8), b=(1, 5, 4, 8))
    y = net("mat_mul", "a", net("transpose", "b", permutation=[0, 2, 3, 1]))
    program = after(net.finish(y), "fuse_transpose")
    assert types(program) == ["transpose", "mat_mul"]
    assert program.ops[0].attributes["permutation"] == (0, 2, 1, 3)
    assert program.ops[1].attributes["transpose_b"]


def test_a_transpose_that_keeps_rows_and_one_of_the_left_operand_remain() -> None:
    net = Net(a=(7, 5), b=(2, 1, 7, 3))
    right = net("transpose", "b", permutation=[1, 0, 2, 3])
    y = net("mat_mul", net("transpose", "a", permutation=[1, 0]), right)
    program = after(net.finish(y), "fuse_transpose")
    assert types(program) == ["transpose", "transpose", "mat_mul"]
    assert not program.ops[2].attributes["transpose_b"]


def test_matrices_may_be_transposed_in_another_batch() -> None:
    net = Net(a=(2, 3, 5, 7), b=(6, 4, 7))
    b = net("reshape", net("transpose", "b", permutation=[0, 2, 1]), shape=(2, 3, 7, 4))
    program = after(net.finish(net("mat_mul", "a", b)), "fuse_transpose")
    assert types(program) == ["reshape", "mat_mul"]
    assert program.ops[1].attributes["transpose_b"]


def test_a_transpose_whose_matrices_a_reshape_divides_remains() -> None:
    net = Net(a=(2, 5, 4), b=(6, 8))
    b = net("reshape", net("transpose", "b", permutation=[1, 0]), shape=(2, 4, 6))
    program = after(net.finish(net("mat_mul", "a", b)), "fuse_transpose")
    assert types(program) == ["transpose", "reshape", "mat_mul"]


def test_a_transpose_of_other_dimensions_before_a_reshape_remains() -> None:
    net = Net(a=(6, 5, 7), b=(3, 2, 7, 4))
    b = net("reshape", net("transpose", "b", permutation=[1, 0, 2, 3]), shape=(6, 7, 4))
    program = after(net.finish(net("mat_mul", "a", b)), "fuse_transpose")
    assert types(program) == ["transpose", "reshape", "mat_mul"]
