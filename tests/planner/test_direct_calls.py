"""Sizes of the kernel calls of a convolution, beside the multiplications of its definition."""

from __future__ import annotations

import pytest

from tests.small_programs import Net, normal
from trimtab.planner import algorithms


@pytest.mark.parametrize(
    ("channels", "outputs", "kernel", "group"), [(6, 10, 3, 1), (6, 10, 3, 2), (5, 7, 1, 1)]
)
def test_a_convolution_calls_a_kernel_with_its_multiplications(
    channels: int, outputs: int, kernel: int, group: int
) -> None:
    net = Net(x=(1, channels, 9, 11))
    weights = normal(outputs, channels // group, kernel, kernel)
    pads = [kernel // 2] * 4
    net.program.outputs = [net("conv", "x", weights, group=group, pads=pads)]
    direct = algorithms.registry()["direct"]
    ((_, call, count),) = direct.kernel_calls(net.program, net.program.ops[0])
    products = 9 * 11 * outputs * (channels // group) * kernel * kernel
    assert call.operations * count == 2 * products
    assert dict(call.sizes)["columns"] == outputs // group
