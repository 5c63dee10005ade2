"""Resize and Upsample: all modes, coordinate modes and roundings, growing and shrinking."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.cases.case import Case, case, floats, ints, normal

COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
ROUNDING = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
SIZES = {"grow": (11, 9), "shrink": (3, 4), "double": (10, 14), "same": (5, 7), "one": (1, 1)}


def _nearest() -> Iterator[Case]:
    x = normal(1, 3, 5, 7)
    for mode in (*COORDINATES, "half_pixel_symmetric"):
        for rounding in ROUNDING:
            for name, (h, w) in SIZES.items():
                yield case(
                    f"nearest-{mode}-{rounding}-{name}",
                    "Resize",
                    *(x, None, None, ints(1, 3, h, w)),
                    opset=19 if mode == "half_pixel_symmetric" else 13,
                    mode="nearest",
                    coordinate_transformation_mode=mode,
                    nearest_mode=rounding,
                )
    # As a float32, 1.4 * 5 is 7, though the nearest float32 to 1.4 is less than 1.4.
    for scale in (2.0, 3.0, 0.5, 1.7, 1.4, 0.6):
        yield case(
            f"nearest-scale-{scale}",
            "Resize",
            *(x, None, floats(1, 1, scale, scale)),
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )
    yield case("nearest-default", "Resize", x, None, floats(1, 1, 2, 3))
    yield case(
        "nearest-tf-half-pixel-for-nn",
        "Resize",
        *(x, floats(), floats(1, 1, 1.5, 2)),
        opset=11,
        coordinate_transformation_mode="tf_half_pixel_for_nn",
    )
    for opset in (9, 10):
        op = "Upsample" if opset == 9 else "Resize"
        yield case(f"nearest-opset-{opset}", op, x, floats(1, 1, 2, 2), opset=opset, mode="nearest")
        yield case(f"linear-opset-{opset}", op, x, floats(1, 1, 2, 3), opset=opset, mode="linear")
    yield case("nearest-opset-10-both", "Resize", x, floats(1, 1, 0.6, 1.7), opset=10)
    yield case("nearest-opset-7", "Upsample", x, opset=7, scales=[1.0, 1.0, 2.0, 2.0])


def _linear() -> Iterator[Case]:
    x = normal(2, 3, 5, 7)
    for mode in (*COORDINATES, "half_pixel_symmetric"):
        for name, (h, w) in SIZES.items():
            yield case(
                f"linear-{mode}-{name}",
                "Resize",
                *(x, None, None, ints(2, 3, h, w)),
                opset=19 if mode == "half_pixel_symmetric" else 13,
                mode="linear",
                coordinate_transformation_mode=mode,
            )
        # Engines agree on aligned corners only for scales that give whole sizes.
        whole = mode == "align_corners"
        for scale in (2.0, 3.0, 0.6) if whole else (2.0, 1.7, 0.6):
            yield case(
                f"linear-{mode}-scale-{scale}",
                "Resize",
                *(x, None, floats(1, 1, scale, 2.0 if whole else scale * 0.9)),
                opset=19 if mode == "half_pixel_symmetric" else 13,
                mode="linear",
                coordinate_transformation_mode=mode,
            )
    yield case(
        "linear-crop",
        "Resize",
        *(x, floats(0, 0, 0.2, -0.1, 1, 1, 0.9, 1.2), None, ints(2, 3, 6, 8)),
        mode="linear",
        coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=7.0,
    )
    yield case(
        "linear-crop-scales",
        "Resize",
        *(x, floats(0, 0, 0.2, -0.1, 1, 1, 0.9, 1.2), floats(1, 1, 1.7, 0.6)),
        mode="linear",
        coordinate_transformation_mode="tf_crop_and_resize",
    )
    for name in ("shrink", "grow"):
        yield case(
            f"linear-antialias-{name}",
            "Resize",
            *(x, None, None, ints(2, 3, *SIZES[name])),
            opset=18,
            mode="linear",
            antialias=1,
        )
    yield case(
        "linear-one-pixel",
        "Resize",
        normal(1, 2, 1, 1),
        None,
        None,
        ints(1, 2, 4, 3),
        mode="linear",
    )


def _cubic() -> Iterator[Case]:
    x = normal(2, 3, 5, 7)
    for mode in (*COORDINATES, "half_pixel_symmetric"):
        for name in ("grow", "shrink"):
            yield case(
                f"cubic-{mode}-{name}",
                "Resize",
                *(x, None, None, ints(2, 3, *SIZES[name])),
                opset=19,
                mode="cubic",
                coordinate_transformation_mode=mode,
                exclude_outside=int(name == "shrink" and mode == "half_pixel"),
            )
    for mode in ("linear", "cubic"):
        yield case(
            f"{mode}-antialias",
            "Resize",
            *(x, None, None, ints(2, 3, 3, 2)),
            opset=19,
            mode=mode,
            antialias=1,
        )
    yield case(
        "cubic-crop",
        "Resize",
        *(x, floats(0, 0, 0.2, -0.1, 1, 1, 0.9, 1.2), None, ints(2, 3, 6, 8)),
        mode="cubic",
        coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=7.0,
    )
    yield case(
        "cubic-scale",
        "Resize",
        *(x, None, floats(1, 1, 1.7, 0.6)),
        mode="cubic",
        cubic_coeff_a=-0.5,
    )


def _other_axes() -> Iterator[Case]:
    volume = normal(1, 2, 4, 5, 6)
    for mode in ("nearest", "linear"):
        yield case(f"{mode}-volume", "Resize", volume, None, floats(1, 1, 2, 0.6, 1.3), mode=mode)
    yield case("nearest-channels", "Resize", normal(1, 4, 3, 5), None, floats(1, 1.5, 1, 2))
    region = floats(0, 0, 0.2, -0.1, 0.3, 1, 1, 0.9, 1.2, 1)
    for mode in ("nearest", "linear"):
        yield case(
            f"{mode}-volume-crop",
            "Resize",
            *(volume, region, None, ints(1, 2, 6, 4, 5)),
            mode=mode,
            coordinate_transformation_mode="tf_crop_and_resize",
            extrapolation_value=7.0,
        )
    for dtype in (np.int8, np.uint8, np.int32):
        x = (normal(2, 3, 5, 7) * 40).astype(dtype)
        yield case(f"nearest-{np.dtype(dtype)}", "Resize", x, None, floats(1, 1, 1.7, 0.6))


def _forms() -> Iterator[Case]:
    x = normal(1, 17, 4, 6)
    yield case("axes", "Resize", x, None, floats(2, 0.5), opset=18, axes=[2, 3], mode="linear")
    yield case("axes-negative", "Resize", x, None, None, ints(9, 8), opset=18, axes=[-1, -2])
    for policy in ("not_larger", "not_smaller"):
        yield case(
            f"policy-{policy}",
            "Resize",
            *(x, None, None, ints(7, 9)),
            opset=18,
            axes=[2, 3],
            keep_aspect_ratio_policy=policy,
            mode="linear",
        )
    yield case("3d", "Resize", normal(1, 3, 8), None, floats(1, 1, 2), mode="linear")
    yield case("wide", "Resize", np.tile(x, (1, 2, 1, 1)), None, floats(1, 1, 2, 2))


def cases() -> Iterator[Case]:
    """The cross product where it is small; named corners elsewhere."""
    yield from _nearest()
    yield from _linear()
    yield from _cubic()
    yield from _other_axes()
    yield from _forms()
