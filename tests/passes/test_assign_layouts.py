"""The choice of memory layouts, and the transposes beside it."""

from __future__ import annotations

import pytest

from tests.small_programs import Net, after, normal, types
from trimtab.program import Program


def conversions(program: Program) -> int:
    return types(program).count("convert_layout")


def test_a_chain_of_convolutions_is_converted_at_its_ends_only() -> None:
    net = Net(x=(1, 3, 6, 5))
    y = net("sigmoid", net.conv("x", 8, 3))
    y = net("concat", y, net("neg", y), axis=1)
    program = after(net.finish(net("exp", net.conv(y, 4))), "assign_layouts")
    assert conversions(program) == 2


def test_inputs_and_outputs_stay_plain_and_keep_their_names() -> None:
    net = Net(x=(1, 3, 6, 5))
    program = after(net.finish(net.conv("x", 8)), "assign_layouts")
    assert {program.vars[v].layout for v in (*program.inputs, *program.outputs)} == {"plain"}


def test_an_output_with_readers_is_converted_once() -> None:
    net = Net(x=(1, 3, 6, 5))
    y = net.conv("x", 8)
    program = after(net.finish(y, net.conv(y, 4)), "assign_layouts")
    assert conversions(program) == 3


def test_one_conversion_serves_all_readers() -> None:
    net = Net(x=(1, 3, 6, 5))
    program = net.finish(net("concat", net.conv("x", 4), net.conv("x", 4), axis=1))
    assert conversions(after(program, "assign_layouts")) == 2


def test_a_network_without_convolutions_is_not_converted() -> None:
    net = Net(x=(1, 3, 6, 5))
    y = net("softmax", net("add", "x", normal(3, 1, 1)), axis=1)
    program = after(net.finish(net("reduce_sum", y, axes=[1])), "assign_layouts")
    assert conversions(program) == 0


def test_the_smaller_tensor_is_converted() -> None:
    net = Net(x=(1, 3, 6, 5))
    y = net.conv("x", 16)
    small, _ = net.many("split", 2, y, axis=1, sizes=[2, 14])
    program = after(net.finish(net("reshape", net("abs", small), shape=[2, 30])), "assign_layouts")
    (last,) = [op for op in program.ops[1:] if op.type == "convert_layout"]
    assert program.vars[last.inputs[0]].shape == (1, 2, 6, 5)


def test_one_pixel_or_one_channel_costs_no_conversion() -> None:
    net = Net(x=(1, 1, 6, 5))
    y = net("global_average_pool", net.conv("x", 8, 3))
    y = net("gemm", net("reshape", y, shape=[1, 8]), normal(5, 8))
    program = after(net.finish(y), "assign_layouts", "merge_reshapes")
    assert types(program) == ["reshape", "conv", "global_average_pool", "reshape", "gemm"]


def test_a_transpose_to_channels_last_after_a_convolution_moves_nothing() -> None:
    net = Net(x=(1, 3, 6, 5))
    y = net("transpose", net.conv("x", 8), permutation=[0, 2, 3, 1])
    program = after(
        net.finish(net("reshape", y, shape=[1, 60, 4])), "assign_layouts", "merge_reshapes"
    )
    assert types(program) == ["convert_layout", "conv", "reshape"]


def test_a_transpose_to_channels_first_before_a_convolution_moves_nothing() -> None:
    net = Net(x=(1, 6, 5, 3))
    y = net.conv(net("transpose", "x", permutation=[0, 3, 1, 2]), 8)
    program = after(net.finish(net("transpose", y, permutation=[0, 2, 3, 1])), "assign_layouts")
    assert types(program) == ["reshape", "conv", "reshape"]


def test_transposes_among_plain_operators_remain() -> None:
    net = Net(x=(1, 6, 5, 3))
    y = net("transpose", "x", permutation=[0, 3, 1, 2])
    y = net("transpose", net("reduce_max", y, axes=[0]), permutation=[0, 2, 3, 1])
    program = after(net.finish(y), "assign_layouts")
    assert types(program) == ["transpose", "reduce_max", "transpose"]


@pytest.mark.parametrize("shape", [(), (8, 1, 1), (5,), (1, 8, 1, 1), (1, 8, 6, 5), (6, 5)])
@pytest.mark.parametrize("type", ["mul", "prelu"])
def test_a_constant_operand_follows_the_layout(type: str, shape: tuple[int, ...]) -> None:
    net = Net(x=(1, 3, 6, 5))
    y = net(type, net.conv("x", 8), normal(*shape))
    assert conversions(after(net.finish(net.conv(y, 4)), "assign_layouts")) == 2


def test_a_computed_operand_of_lower_rank_is_broadcast_alike() -> None:
    net = Net(x=(1, 3, 6, 5), s=(8, 1, 1), t=(6, 5))
    y = net("mul", net("add", net.conv("x", 8), net("neg", "s")), "t")
    after(net.finish(net.conv(y, 4)), "assign_layouts")


def test_a_constant_residual_has_the_layout_of_the_convolution() -> None:
    net = Net(x=(1, 3, 6, 5))
    program = net.finish(net("add", net.conv("x", 8), normal(1, 8, 6, 5)))
    assert types(after(program, "fuse_residual", "assign_layouts")).count("conv") == 1


def test_a_result_of_higher_rank_keeps_its_operands_plain() -> None:
    net = Net(x=(1, 3, 6, 5), z=(2, 1, 1, 1, 1))
    after(net.finish(net("add", net.conv("x", 8), "z")), "assign_layouts")


@pytest.mark.parametrize("kind", ["average", "max"])
def test_a_global_pool_of_an_image_in_plain_order_is_a_reduction(kind: str) -> None:
    net = Net(x=(2, 3, 6, 5))
    gate = net("sigmoid", net.conv(net(f"global_{kind}_pool", net("abs", "x")), 3))
    program = after(net.finish(net("mul", net("abs", "x"), gate)), "assign_layouts")
    assert f"reduce_{'mean' if kind == 'average' else 'max'}" in types(program)
    assert conversions(program) == 0
    net = Net(x=(2, 3, 6, 5))
    program = after(net.finish(net(f"global_{kind}_pool", net.conv("x", 4))), "assign_layouts")
    assert f"global_{kind}_pool" in types(program)


@pytest.mark.parametrize("pool", ["max_pool", "average_pool"])
def test_a_pool_of_plain_images_needs_no_conversion(pool: str) -> None:
    window = {"kernel_shape": (3, 2), "strides": (1, 2), "pads": (1, 0, 1, 1)}
    net = Net(x=(2, 3, 6, 61))
    program = after(net.finish(net("relu", net(pool, "x", **window))), "assign_layouts")
    assert types(program) == [f"{pool}_planes", "relu"]
    net = Net(x=(2, 3, 6, 61))
    y = net.conv(net(pool, net.conv("x", 4), **window), 4)
    assert types(after(net.finish(y), "assign_layouts"))[1:4] == ["conv", pool, "conv"]


def test_only_a_padding_that_no_maximum_takes_is_pooled_in_plain_order() -> None:
    net = Net(x=(1, 3, 6, 29))
    window = {"kernel_shape": (3, 3), "pads": (1, 1, 1, 1)}
    y = net("max_pool", net("max_pool", "x", pad_value=0.0, **window), **window)
    assert types(after(net.finish(y), "assign_layouts"))[1:3] == ["max_pool", "max_pool"]
