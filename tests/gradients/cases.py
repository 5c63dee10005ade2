"""Operators to differentiate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.gradients import reference
from tests.gradients.case import Case, normal, spread
from tests.gradients.window_cases import window_cases


def _scattered(reduction: str, x: Any, indices: Any, updates: Any) -> Any:
    y = x.copy()
    for at, update in zip(map(tuple, indices.astype(int)), updates, strict=True):
        y[at] = update + (y[at] if reduction == "add" else 0)
    return y


def _elementwise() -> Iterator[Case]:
    x, positive = normal(3, 7), np.abs(normal(3, 7)) + np.float32(0.2)

    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    functions: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
        "relu": (lambda x: np.maximum(x, 0), {}),
        "clip": (lambda x: np.clip(x, -0.5, 1.25), {"alpha": -0.5, "beta": 1.25}),
        "leaky_relu": (lambda x: np.where(x > 0, x, 0.125 * x), {"alpha": 0.125}),
        "sigmoid": (sigmoid, {}),
        "tanh": (np.tanh, {}),
        "exp": (np.exp, {}),
        "sin": (np.sin, {}),
        "cos": (np.cos, {}),
        "softsign": (lambda x: x / (1 + np.abs(x)), {}),
        "neg": (lambda x: -x, {}),
        "abs": (np.abs, {}),
        "softplus": (lambda x: np.log1p(np.exp(x)), {}),
        "swish": (lambda x: x * sigmoid(1.5 * x), {"alpha": 1.5}),
        "hard_sigmoid": (lambda x: np.clip(0.25 * x + 0.5, 0, 1), {"alpha": 0.25, "beta": 0.5}),
        "hard_swish": (lambda x: x * np.clip(x / 6 + 0.5, 0, 1), {}),
        "elu": (lambda x: np.where(x > 0, x, 0.75 * np.expm1(x)), {"alpha": 0.75}),
        "hard_shrink": (lambda x: np.where(np.abs(x) > 0.75, x, 0), {"alpha": 0.75}),
        "mish": (lambda x: x * np.tanh(np.log1p(np.exp(x))), {}),
    }
    for name, (forward, attributes) in functions.items():
        yield Case(name, name, (x,), forward, attributes)
    yield Case(
        *("celu-2d", "celu", (x,), lambda x: np.where(x > 0, x, 1.5 * np.expm1(x / 1.5))),
        {"alpha": 1.5},
    )
    erf = np.vectorize(math.erf)
    yield Case("erf", "erf", (x,), erf)
    yield Case("gelu", "gelu", (x,), lambda x: x / 2 * (1 + erf(x / math.sqrt(2))))
    root = math.sqrt(2 / math.pi)
    yield Case(
        "gelu-tanh",
        "gelu",
        (x,),
        lambda x: x / 2 * (1 + np.tanh(root * (x + 0.044715 * x**3))),
        {"alpha": 1.0},
    )
    yield Case("relu-image", "relu", (normal(2, 3, 5, 4),), functions["relu"][0])
    yield Case("log", "log", (positive,), np.log)
    yield Case("sqrt", "sqrt", (positive,), np.sqrt)
    yield Case("pow", "pow", (positive, np.array([2.5], np.float32)), np.power, fixed=1)
    slopes = normal(7, seed="slope")
    yield Case("prelu", "prelu", (x, slopes), lambda x, s: np.where(x > 0, x, s * x))
    yield Case("prelu-frozen", "prelu", (x, slopes), lambda x, s: np.where(x > 0, x, s * x), {}, 1)


def _binary() -> Iterator[Case]:
    for name, forward in (
        ("add", np.add),
        ("sub", np.subtract),
        ("mul", np.multiply),
        ("div", np.divide),
        ("max", np.maximum),
        ("min", np.minimum),
    ):
        for id, a, b in (
            ("same", (3, 5), (3, 5)),
            ("row", (3, 5), (5,)),
            ("column", (2, 3, 5), (3, 1)),
            ("image", (2, 3, 4, 5), (3, 1, 1)),
            ("left", (1,), (2, 3)),
        ):
            yield Case(f"{name}-{id}", name, (normal(*a), normal(*b, seed="b")), forward)


def _matrices() -> Iterator[Case]:
    for id, a, b in (
        ("matrices", (3, 5), (5, 7)),
        ("batch", (2, 3, 5), (2, 5, 7)),
        ("shared", (2, 3, 3, 5), (5, 7)),
        ("shared-left", (3, 5), (2, 5, 7)),
    ):
        yield Case(f"mat_mul-{id}", "mat_mul", (normal(*a), normal(*b)), np.matmul)
        turned = np.ascontiguousarray(np.swapaxes(normal(*b), -1, -2))
        yield Case(
            f"mat_mul-{id}-transposed",
            "mat_mul",
            (normal(*a), turned),
            lambda a, b: a @ np.swapaxes(b, -1, -2),
            {"transpose_b": True},
        )
    vectors = normal(5), normal(2, 3, 5), normal(2, 5, 7)
    for id, pair in (("row", vectors[::2]), ("column", vectors[1::-1]), ("dot", vectors[:1] * 2)):
        yield Case(f"mat_mul-{id}", "mat_mul", pair, np.matmul)
    for shape in ((3, 5), (2, 3, 5)):
        operands = normal(*shape), normal(7, 5), normal(7)
        for fixed in (0, 1, 2):
            id = f"gemm-{len(shape)}-fixed{fixed}"
            yield Case(id, "gemm", operands, lambda x, w, b: x @ w.T + b, {}, fixed)
    yield Case("gemm-no-bias", "gemm", (normal(3, 5), normal(4, 5)), lambda x, w: x @ w.T)


_PAIRS = {  # paddings as numpy has them
    "crop": ((0, 0), (0, 1), (2, 0), (0, 0)),
    "copies": ((0, 1), (1, 0), (2, 4), (3, 1)),
}


def _movement() -> Iterator[Case]:
    x = normal(2, 6, 5, 4)

    def case(id: str, op: str, forward: Callable[..., Any], **attributes: Any) -> Case:
        return Case(f"{op}-{id}", op, (x,), forward, attributes)

    yield case("flat", "reshape", lambda x: x.reshape(2, 120), shape=(2, 120))
    yield case("any", "transpose", lambda x: x.transpose(2, 0, 3, 1), permutation=(2, 0, 3, 1))
    yield case("nhwc", "transpose", lambda x: x.transpose(0, 2, 3, 1), permutation=(0, 2, 3, 1))
    yield case(
        "box", "slice", lambda x: x[:, 1:5, :, -3:-1], starts=(1, -3), ends=(5, -1), axes=(1, 3)
    )
    yield case(
        "steps",
        "slice",
        lambda x: x[:, 1::2, 1::3],
        starts=(1, 1),
        ends=(99, 99),
        axes=(1, 2),
        steps=(2, 3),
    )
    pads = (0, 1, 0, 2, 1, 0, 3, 0)
    yield case(
        "zeros", "pad", lambda x: np.pad(x, list(zip(pads[:4], pads[4:], strict=True))), pads=pads
    )
    cropped = (0, -1, 2, -1, 0, 1, -2, 0)
    yield case("crop", "pad", lambda x: np.pad(x[:, 1:, :3, 1:], _PAIRS["crop"]), pads=cropped)
    for mode in ("reflect", "edge", "wrap"):
        yield case(
            mode,
            "pad",
            lambda x, mode=mode: np.pad(x, _PAIRS["copies"], mode),
            pads=(0, 1, 2, 3, 1, 0, 4, 1),
            mode=mode,
        )
    for axis, indices in ((1, (3, 0, -1, 3)), (-2, ((1, 1), (-5, 4))), (0, 1)):
        yield Case(
            f"gather-{axis}",
            "gather",
            (x, np.array(indices)),
            lambda x, i, axis=axis: np.take(x, i.astype(int), axis),
            {"axis": axis},
            1,
        )
    rows = np.array([[1, 0], [-1, 3], [0, -2]])
    for reduction in ("none", "add"):
        yield Case(
            f"scatter_nd-{reduction}",
            "scatter_nd",
            (x, rows, normal(3, *x.shape[2:], seed="updates")),
            partial(_scattered, reduction),
            {"reduction": reduction},
        )
    yield case("all", "tile", lambda x: np.tile(x, (2, 1, 3, 1)), repeats=(2, 1, 3, 1))
    yield Case(
        "expand",
        "expand",
        (normal(3, 1, 5),),
        lambda x: np.broadcast_to(x, (2, 3, 4, 5)),
        {"shape": (2, 3, 4, 5)},
    )
    for axis in (0, 1, -1):
        parts = tuple(np.swapaxes(normal(k, 3, 4, seed=str(k)), 0, axis) for k in (2, 1, 5))
        parts = tuple(map(np.ascontiguousarray, parts))
        yield Case(
            f"concat-{axis}",
            "concat",
            parts,
            lambda *xs, axis=axis: np.concatenate(xs, axis),
            {"axis": axis},
        )
    yield Case(
        "split",
        "split",
        (x,),
        lambda x: np.split(x, (1, 3), 1),
        {"axis": 1, "sizes": (1, 2, 3)},
        outputs=3,
    )
    for axes in ((1,), (0, 2), (-1,)):
        for keep in (True, False):
            arguments = {"axes": axes, "keep_dims": keep}
            for op in ("sum", "mean", "max", "min"):
                yield Case(
                    f"reduce_{op}-{axes}-{keep}",
                    f"reduce_{op}",
                    (x if op in ("sum", "mean") else spread(*x.shape),),
                    lambda x, op=op, axes=axes, keep=keep: getattr(x, op)(axes, keepdims=keep),
                    arguments,
                )
    shuffle = lambda x: x.reshape(2, 3, 2, 5, 4).transpose(0, 2, 1, 3, 4).reshape(x.shape)  # noqa: E731
    yield case("3", "channel_shuffle", shuffle, group=3)
    to_depth = lambda x: (  # noqa: E731
        x.reshape(2, 3, 2, 2, 2, 2).transpose(0, 3, 5, 1, 2, 4).reshape(2, 12, 2, 2)
    )
    to_space = lambda x: (  # noqa: E731
        x.reshape(2, 2, 2, 3, 2, 2).transpose(0, 3, 4, 1, 5, 2).reshape(2, 3, 4, 4)
    )
    yield Case(
        "space_to_depth", "space_to_depth", (normal(2, 3, 4, 4),), to_depth, {"block_size": 2}
    )
    yield Case(
        "depth_to_space", "depth_to_space", (normal(2, 12, 2, 2),), to_space, {"block_size": 2}
    )


def _normalizations() -> Iterator[Case]:
    for axis in (1, -1):
        for op, forward in (
            ("softmax", reference.softmax),
            ("log_softmax", lambda x, axis: np.log(reference.softmax(x, axis))),
        ):
            yield Case(
                f"{op}-{axis}", op, (normal(2, 5, 3),), partial(forward, axis=axis), {"axis": axis}
            )
    yield Case(
        "softmax-image",
        "softmax",
        (normal(2, 5, 3, 2),),
        partial(reference.softmax, axis=1),
        {"axis": 1},
    )
    x = normal(2, 3, 4, 5)
    statistics = normal(3, seed="mean"), np.abs(normal(3, seed="variance")) + np.float32(0.3)

    def batch_normalization(x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> Any:
        scale, bias, mean, variance = (v[:, None, None] for v in (scale, bias, mean, variance))
        return (x - mean) / np.sqrt(variance + 1e-3) * scale + bias

    operands = x, normal(3, seed="scale"), normal(3, seed="bias"), *statistics
    for fixed in (2, 4):
        yield Case(
            f"batch_normalization-fixed{fixed}",
            "batch_normalization",
            operands,
            batch_normalization,
            {"epsilon": 1e-3},
            fixed,
        )
    yield Case(
        "layer_normalization",
        "layer_normalization",
        (normal(3, 4, 5), normal(4, 5, seed="scale"), normal(4, 5, seed="bias")),
        lambda x, s, b: reference.normalized(x, (1, 2), 1e-3) * s + b,
        {"axis": 1, "epsilon": 1e-3},
    )
    yield Case(
        "instance_normalization",
        "instance_normalization",
        (x, normal(3, seed="scale"), normal(3, seed="bias")),
        lambda x, s, b: reference.normalized(x, (2, 3), 1e-3) * s[:, None, None] + b[:, None, None],
        {"epsilon": 1e-3},
    )

    def lrn(x: Any, size: int, alpha: float, beta: float, bias: float) -> Any:
        squares = np.pad(x * x, ((0, 0), ((size - 1) // 2, size // 2), (0, 0), (0, 0)))
        total = sum(squares[:, i : i + x.shape[1]] for i in range(size))
        return x / (bias + alpha / size * total) ** beta

    for size in (3, 4):
        arguments: dict[str, Any] = {"size": size, "alpha": 0.5, "beta": 0.75, "bias": 1.5}
        yield Case(
            f"lrn-{size}", "lrn", (normal(2, 6, 2, 3),), partial(lrn, **arguments), arguments
        )


def cases() -> Iterator[Case]:
    """All cases."""
    yield from _elementwise()
    yield from _binary()
    yield from _matrices()
    yield from _movement()
    yield from _normalizations()
    yield from window_cases()
