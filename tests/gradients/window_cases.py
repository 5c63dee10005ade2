"""Operators of windows and images to differentiate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tests.gradients import reference
from tests.gradients.case import Case, normal, spread


def _convolutions() -> Iterator[Case]:
    for id, x, w, attributes in (
        ("plain", (1, 3, 5, 4), (2, 3, 3, 3), {}),
        ("batch", (2, 2, 5, 6), (3, 2, 3, 2), {"pads": (1, 0, 1, 2)}),
        ("stride", (2, 2, 7, 6), (3, 2, 3, 3), {"strides": (2, 3), "pads": (1, 1, 1, 1)}),
        ("dilation", (1, 2, 7, 8), (2, 2, 2, 3), {"dilations": (3, 2), "strides": (2, 1)}),
        ("groups", (2, 4, 5, 4), (6, 2, 3, 3), {"group": 2, "pads": (1, 1, 1, 1)}),
        ("depthwise", (2, 3, 5, 5), (3, 1, 3, 3), {"group": 3, "strides": (2, 2)}),
        ("multiplier", (1, 3, 5, 4), (6, 1, 3, 3), {"group": 3}),
        ("pointwise", (2, 3, 4, 5), (5, 3, 1, 1), {}),
        ("pointwise-groups", (2, 4, 3, 3), (6, 2, 1, 1), {"group": 2}),
        ("pointwise-stride", (2, 3, 5, 5), (5, 3, 1, 1), {"strides": (2, 2)}),
        ("pointwise-pads", (1, 3, 4, 3), (2, 3, 1, 1), {"pads": (1, 0, 0, 2)}),
        ("over-image", (1, 2, 3, 3), (2, 2, 5, 4), {"pads": (2, 1, 2, 1)}),
        ("stride-over-kernel", (2, 2, 9, 8), (3, 2, 2, 1), {"strides": (3, 4)}),
        (
            "depthwise-all",
            (2, 3, 8, 9),
            (3, 1, 2, 3),
            {"group": 3, "strides": (2, 1), "dilations": (1, 2), "pads": (1, 0, 2, 3)},
        ),
        (
            "groups-all",
            (2, 6, 9, 7),
            (9, 2, 3, 2),
            {"group": 3, "strides": (2, 3), "dilations": (2, 1), "pads": (0, 2, 1, 1)},
        ),
    ):
        operands = normal(*x), normal(*w, seed="w"), normal(w[0], seed="b")
        for fixed in (0, 1, 2):
            yield Case(
                f"conv-{id}-fixed{fixed}",
                "conv",
                operands,
                partial(reference.conv, **attributes),
                attributes,
                fixed,
            )
    for id, x, w, attributes in (
        ("plain", (1, 3, 4, 3), (3, 2, 3, 3), {}),
        ("stride", (2, 2, 4, 3), (2, 3, 3, 2), {"strides": (2, 3), "pads": (1, 0, 1, 1)}),
        ("extra", (1, 2, 3, 3), (2, 2, 3, 3), {"strides": (2, 2), "output_padding": (1, 1)}),
        ("groups", (2, 4, 3, 4), (4, 3, 2, 3), {"group": 2, "dilations": (2, 1)}),
        ("depthwise", (1, 3, 4, 5), (3, 1, 3, 2), {"group": 3, "strides": (2, 2)}),
        (
            "groups-all",
            (2, 4, 4, 3),
            (4, 2, 3, 2),
            {"group": 2, "strides": (3, 2), "dilations": (1, 2), "pads": (1, 1, 0, 2)},
        ),
    ):
        channels = w[1] * attributes.get("group", 1)  # type: ignore[operator]
        operands = normal(*x), normal(*w, seed="w"), normal(channels, seed="b")
        for fixed in (0, 2):
            yield Case(
                f"conv_transpose-{id}-fixed{fixed}",
                "conv_transpose",
                operands,
                partial(reference.conv_transpose, **attributes),
                attributes,
                fixed,
            )


def _pools() -> Iterator[Case]:
    for id, kernel, attributes in (
        ("apart", (2, 2), {"strides": (2, 2)}),
        ("odd", (2, 3), {"strides": (2, 3), "pads": (1, 1, 0, 1)}),
        ("overlap", (3, 3), {"strides": (2, 2), "pads": (1, 1, 1, 1)}),
        ("ceil", (3, 2), {"strides": (2, 2), "ceil_mode": True}),
        ("dilation", (2, 2), {"dilations": (2, 3)}),
    ):
        arguments: dict[str, Any] = {"kernel_shape": kernel, "pads": (0, 0, 0, 0), **attributes}
        x = spread(2, 3, 7, 8)
        yield Case(
            f"max_pool-{id}", "max_pool", (x,), partial(reference.max_pool, **arguments), arguments
        )
        for padded in (False, True):
            if padded and "ceil_mode" in attributes:
                continue
            mean_arguments = {**arguments, "count_include_pad": padded}
            yield Case(
                f"average_pool-{id}-{padded}",
                "average_pool",
                (x,),
                partial(reference.average_pool, **mean_arguments),
                mean_arguments,
            )
    x = spread(2, 3, 4, 5)
    mean = lambda x: x.mean((2, 3), keepdims=True)  # noqa: E731
    yield Case("global_average_pool", "global_average_pool", (x,), mean)
    highest = lambda x: x.max((2, 3), keepdims=True)  # noqa: E731
    yield Case("global_max_pool", "global_max_pool", (x,), highest)


def _resampling() -> Iterator[Case]:
    x = normal(2, 3, 4, 5)
    for sizes in ((8, 10), (3, 7)):
        for arguments in (
            {"mode": "linear"},
            {"mode": "linear", "coordinate_mode": "align_corners"},
            {"mode": "nearest", "coordinate_mode": "asymmetric", "nearest_mode": "floor"},
        ):
            attributes: dict[str, Any] = {"sizes": sizes, **arguments}
            id = f"resize-{sizes[0]}-{'-'.join(arguments.values())}"
            yield Case(id, "resize", (x,), partial(reference.resize, **attributes), attributes)


def _windows() -> Iterator[Case]:
    """Operators of the runtime that gradients consist of."""
    x = normal(2, 4, 3, 5)
    for group, attributes in (
        (1, {}),
        (2, {"strides": (2, 1), "pads": (1, 0, 2, 1)}),
        (4, {"dilations": (2, 1), "pads": (0, 2, 0, 0)}),
    ):
        arguments: dict[str, Any] = {"kernel_shape": (2, 3), "group": group, **attributes}
        to_rows: Callable[[Any], Any] = partial(reference.im2col, **arguments)
        yield Case(f"im2col-{group}", "im2col", (x,), to_rows, arguments)
        rows = normal(*to_rows(x).shape)
        yield Case(
            f"col2im-{group}",
            "col2im",
            (rows,),
            reference.col2im(x.shape, **arguments),
            {"image_shape": (3, 5), **arguments},
        )


def _depthwise() -> Iterator[Case]:
    """More than one vector of channels, and a rest."""
    for id, attributes in (
        ("plain", {}),
        ("pads", {"strides": (2, 1), "pads": (1, 0, 2, 1)}),
        ("all", {"strides": (2, 3), "dilations": (2, 1), "pads": (2, 1, 0, 2)}),
    ):
        x, w = normal(2, 19, 6, 7), normal(6, 19, seed="w")

        def forward(x: Any, w: Any, attributes: dict[str, Any] = attributes) -> Any:
            return reference.conv(x, w.T.reshape(19, 1, 2, 3), group=19, **attributes)

        arguments = {"computes": "result", "kernel_shape": (2, 3), **attributes}
        yield Case(f"computed_depthwise-{id}", "computed_depthwise", (x, w), forward, arguments)


def window_cases() -> Iterator[Case]:
    """All of them."""
    yield from _convolutions()
    yield from _pools()
    yield from _resampling()
    yield from _windows()
    yield from _depthwise()
