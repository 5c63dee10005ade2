"""Global pools."""

from __future__ import annotations

import pytest

from tests.small_programs import Net, after, types


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("kind", ["mean", "max"])
def test_a_reduction_over_pixels_becomes_a_global_pool(kind: str, keep: bool) -> None:
    net = Net(x=(2, 3, 5, 4))
    y = net(f"reduce_{kind}", "x", axes=[-1, 2], keep_dims=keep)
    pool = "global_average_pool" if kind == "mean" else "global_max_pool"
    program = after(net.finish(y), "canonicalize_reduce")
    assert types(program) == [pool, *([] if keep else ["reshape"])]


def test_a_pool_over_the_whole_image_becomes_global() -> None:
    net = Net(x=(2, 3, 5, 4))
    program = net.finish(
        net("average_pool", "x", kernel_shape=[5, 4]), net("max_pool", "x", kernel_shape=[5, 3])
    )
    assert types(after(program, "canonicalize_reduce")) == ["global_average_pool", "max_pool"]
