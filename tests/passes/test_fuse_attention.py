"""Attention as one operator."""

from __future__ import annotations

import numpy as np
import pytest

import trimtab
from tests.small_programs import Array, Net, after, normal, types
from trimtab.planner.plan_file import Plan
from trimtab.program import Program

Shape = tuple[int, ...]


def attention(q: Shape, k: Shape, v: Shape, mask: Shape | None = None) -> Net:
    """A program whose last result, `y`, is attention with keys [..., n, d]."""
    net = Net(q=q, k=k, v=v, **({} if mask is None else {"mask": mask}))
    scores = net("mat_mul", "q", "k", transpose_b=True)
    if mask is not None:
        scores = net("add", scores, "mask")
    net.finish(net("mat_mul", net("softmax", scores), "v"))
    return net


def exact(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    """Attention in float64."""
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2)
    if mask is not None:
        scores = scores + mask
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(weights / weights.sum(-1, keepdims=True) @ v.astype(np.float64))


@pytest.mark.parametrize("precision", ["f32", "f16"])
@pytest.mark.parametrize("threads", [1, 3])
def test_it_is_exact_at_odd_sizes(threads: int, precision: str) -> None:
    rng = np.random.default_rng(3)
    for rows, keys, depth, columns in (
        (197, 197, 64, 64),
        (49, 49, 33, 8),
        (1, 7, 8, 65),
        (7, 1, 1, 1),
        (300, 1040, 5, 3),
    ):
        shapes = {"q": (2, rows, depth), "k": (2, keys, depth), "v": (2, keys, columns)}
        program = attention(shapes["q"], shapes["k"], shapes["v"], (rows, keys)).program
        session = trimtab.Session(program, threads=threads, plan=Plan(precision=precision))
        assert "attention" in types(session.program)
        assert "softmax" not in types(session.program)
        inputs = {
            name: rng.standard_normal(shape).astype(np.float32) / np.float32(shape[-1] ** 0.25)
            for name, shape in {**shapes, "mask": (rows, keys)}.items()
        }
        (y,) = session.run(inputs).values()
        bound = 2e-6 if precision == "f32" else 5e-3
        assert np.abs(y - exact(**inputs)).max() < bound


def test_the_scores_leave_the_memory_plan() -> None:
    net = attention((3, 400, 16), (3, 400, 16), (3, 400, 16))
    separate = net.program.copy()
    separate.outputs = [*separate.outputs, separate.ops[1].outputs[0]]
    fused, apart = (trimtab.Session(p).memory["arena_bytes"] for p in (net.program, separate))
    assert fused < apart - 2 * 3 * 400 * 400


@pytest.mark.parametrize(
    "mask", [(4, 6), (6,), (1, 6), (3, 4, 6), (3, 1, 6), (2, 1, 1, 6), (2, 3, 4, 6)]
)
def test_a_mask_may_broadcast_along_every_axis_but_the_keys(mask: Shape) -> None:
    net = attention((2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 7), mask)
    assert types(after(net.program, "fuse_attention")) == ["attention"]


@pytest.mark.parametrize("mask", [(4, 1), (1,), (3, 4, 1), (5, 1, 3, 4, 6)])
def test_other_addends_stay(mask: Shape) -> None:
    net = attention((1, 3, 4, 5), (1, 3, 6, 5), (1, 3, 6, 7), mask)
    assert "softmax" in types(after(net.program, "fuse_attention"))


def _kept(*outputs: int) -> Program:
    """Attention whose operators at `outputs` are results, too."""
    program = attention((3, 4, 5), (3, 6, 5), (3, 6, 7), (4, 6)).program
    program.outputs = [*program.outputs, *(program.ops[i].outputs[0] for i in outputs)]
    return program


@pytest.mark.parametrize("place", [0, 1, 2])
def test_scores_that_something_else_reads_stay(place: int) -> None:
    assert "attention" not in types(after(_kept(place), "fuse_attention"))


@pytest.mark.parametrize("mask", [None, (4, 6)])
def test_scaled_scores_are_those_of_scaled_queries(mask: Shape | None) -> None:
    shapes = {"q": (3, 4, 50), "k": (3, 50, 6), "v": (3, 6, 7)}
    net = Net(**shapes, **({} if mask is None else {"mask": mask}))
    scores = net("mul", net("mat_mul", "q", "k"), 0.25)
    if mask is not None:
        scores = net("add", scores, "mask")
    program = net.finish(net("mat_mul", net("softmax", scores), "v"))
    assert types(after(program, "fuse_attention")) == ["mul", "attention"]


def test_a_scale_that_adds_dimensions_stays() -> None:
    net = Net(q=(3, 4, 5), k=(3, 5, 6), v=(3, 6, 7))
    scores = net("mul", net("mat_mul", "q", "k"), normal(1, 1, 1, 1))
    program = net.finish(net("mat_mul", net("softmax", scores), "v"))
    assert "softmax" in types(after(program, "fuse_attention"))


def test_a_mask_that_is_scaled_stays() -> None:
    net = Net(q=(3, 4, 5), k=(3, 5, 6), v=(3, 6, 7), mask=(4, 6))
    scores = net("mul", net("add", net("mat_mul", "q", "k"), "mask"), 0.25)
    program = net.finish(net("mat_mul", net("softmax", scores), "v"))
    assert "softmax" in types(after(program, "fuse_attention"))


def test_a_softmax_over_queries_stays() -> None:
    net = Net(q=(3, 6, 5), k=(3, 6, 5), v=(3, 6, 7))
    scores = net("mat_mul", "q", "k", transpose_b=True)
    y = net("mat_mul", net("softmax", scores, axis=1), "v")
    assert "softmax" in types(after(net.finish(y), "fuse_attention"))


def test_keys_and_values_are_read_in_either_order() -> None:
    net = Net(q=(3, 4, 5), k=(3, 5, 6), v=(3, 7, 6))
    y = net("mat_mul", net("softmax", net("mat_mul", "q", "k")), "v", transpose_b=True)
    program = after(net.finish(y), "fuse_attention")
    assert types(program) == ["attention"]
    assert not program.ops[0].attributes["transpose_k"]
    assert program.ops[0].attributes["transpose_v"]


def pixels_last(batch: Shape, mask: Shape | None = None) -> Net:
    """Attention of 6 queries and 9 keys whose values and result are [columns, pixels]."""
    shapes = {"q": (*batch, 6, 5), "k": (*batch, 5, 9), "v": (*batch, 7, 9)}
    net = Net(**shapes, **({} if mask is None else {"mask": mask}))
    scores = net("mat_mul", "q", "k")
    if mask is not None:
        scores = net("add", scores, "mask")
    net.finish(net("mat_mul", "v", net("softmax", scores), transpose_b=True))
    return net


@pytest.mark.parametrize("mask", [None, (9,), (1, 6, 9)])
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_pixels_may_be_last(batch: Shape, mask: Shape | None) -> None:
    if mask is not None and len(mask) > len(batch) + 2:
        mask = mask[1:]
    program = pixels_last(batch, mask).program
    fused = after(program, "fuse_attention")
    assert types(fused) == ["attention", "transpose"]
    rng = np.random.default_rng(4)
    inputs = {
        name: rng.standard_normal(program.vars[name].shape).astype(np.float32)
        for name in program.inputs
    }
    q, k, v = (inputs[name] for name in "qkv")
    expected = exact(q, k.swapaxes(-1, -2), v.swapaxes(-1, -2), inputs.get("mask"))
    (y,) = trimtab.Session(program).run(inputs).values()
    assert np.abs(y - expected.swapaxes(-1, -2)).max() < 2e-6


def test_values_times_weights_that_are_not_transposed_stay() -> None:
    net = Net(q=(3, 6, 5), k=(3, 5, 6), v=(3, 7, 6))
    y = net("mat_mul", "v", net("softmax", net("mat_mul", "q", "k")))
    assert "softmax" in types(after(net.finish(y), "fuse_attention"))


def windows(bias: Shape, mask: Shape) -> Net:
    """Attention in windows, whose masks differ between windows, as Swin transformers have it."""
    shapes = dict.fromkeys("qkv", (8, 3, 5, 4))
    net = Net(**shapes, bias=bias, mask=mask)
    scores = net("add", net("mat_mul", "q", "k", transpose_b=True), "bias")
    scores = net("add", net("reshape", scores, shape=[2, 4, 3, 5, 5]), "mask")
    scores = net("reshape", scores, shape=[8, 3, 5, 5])
    net.finish(net("mat_mul", net("softmax", scores), "v"))
    return net


def test_masks_of_windows_are_added_first() -> None:
    program = after(windows((1, 3, 5, 5), (1, 4, 1, 5, 5)).program, "fuse_attention")
    assert types(program) == ["reshape", "reshape", "reshape", "add", "attention", "reshape"]
    assert program.vars[program.ops[3].outputs[0]].shape == (1, 4, 3, 5, 5)


@pytest.mark.parametrize("bias", [(3, 5, 5), (5, 5), (1, 1, 1, 5), (5,)])
def test_masks_of_windows_broadcast(bias: Shape) -> None:
    program = after(windows(bias, (4, 1, 1, 5)).program, "fuse_attention")
    assert "attention" in types(program)


def test_a_mask_that_differs_along_a_reshaped_dimension_stays() -> None:
    program = after(windows((8, 1, 5, 5), (1, 4, 1, 5, 5)).program, "fuse_attention")
    assert "softmax" in types(program)
