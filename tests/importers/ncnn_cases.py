"""Test cases of single ncnn layers: parameters, weights in the order of the file, input shapes."""

from __future__ import annotations

import itertools

from tests.importers.caffe_writer import random
from tests.importers.ncnn_convolution_cases import (
    IMAGE,
    MATRIX,
    VECTOR,
    Case,
    Params,
    Shape,
    convolutions,
    tagged,
)


def _matrices() -> list[Case]:
    bias = random(5, seed=2)

    def product(inputs: int) -> Params:
        return {0: 5, 1: 1, 2: 5 * inputs}

    heads = [x for i in range(4) for x in (tagged(8, 8, seed=3 + i), random(8, seed=30 + i))]
    return [
        Case("image", "InnerProduct", product(378), (tagged(5, 378), bias)),
        Case("vector", "InnerProduct", product(12), (tagged(5, 12), bias), (VECTOR,)),
        Case("rows", "InnerProduct", product(9) | {9: 1}, (tagged(5, 9), bias), (MATRIX,)),
        Case("matrix", "InnerProduct", product(54), (tagged(5, 54), bias), (MATRIX,)),
        Case("matrices", "MatMul", {}, (), ((6, 9), (9, 4))),
        Case("transposed", "MatMul", {0: 1}, (), ((3, 6, 9), (3, 4, 9))),
        Case("broadcast", "MatMul", {}, (), ((3, 6, 9), (9, 4))),
        Case("row", "MatMul", {}, (), ((9,), (9, 4))),
        Case("column", "MatMul", {}, (), ((6, 9), (9,))),
        Case("computed", "Gemm", {0: 0.5, 1: 2.0}, (), ((6, 9), (9, 4), (6, 4))),
        Case("transposed", "Gemm", {2: 1, 3: 1, 14: 1}, (), ((9, 6), (4, 9))),
        Case(
            "weights",
            "Gemm",
            {3: 1, 5: 1, 6: 1, 8: 4, 9: 9, 10: 4},
            (tagged(4, 9), tagged(4, seed=2)),
            (MATRIX,),
        ),
        Case("left weights", "Gemm", {4: 1, 7: 4, 9: 6, 10: -1, 6: 1}, (tagged(4, 6),), (MATRIX,)),
        Case(
            "offsets by row",
            "Gemm",
            {5: 1, 6: 1, 7: 6, 8: 4, 9: 9, 10: 1},
            (tagged(9, 4), tagged(6, seed=2)),
            (MATRIX,),
        ),
        Case("self", "MultiHeadAttention", {0: 8, 1: 2, 2: 64}, tuple(heads), ((5, 8),)),
        Case(
            "three",
            "MultiHeadAttention",
            {0: 8, 1: 2, 2: 64},
            tuple(heads),
            ((5, 8), (7, 8), (7, 8)),
        ),
        Case(
            "mask",
            "MultiHeadAttention",
            {0: 8, 1: 2, 2: 64, 5: 1},
            tuple(heads),
            ((5, 8), (7, 8), (7, 8), (5, 7)),
        ),
    ]


def _recurrent() -> list[Case]:
    cases = []
    for direction, name in enumerate(("forward", "reverse", "both")):
        each = 1 + (direction == 2)
        for type, gates, biases, states in (("LSTM", 4, 4, 2), ("GRU", 3, 4, 1), ("RNN", 1, 1, 1)):
            params: Params = {0: 5, 1: each * gates * 5 * 9, 2: direction}
            weights = (
                tagged(each, gates * 5, 9, seed=2),
                tagged(each, biases, 5, seed=3),
                tagged(each, gates * 5, 5, seed=4),
            )
            shapes = (MATRIX, *[(each, 5)] * states)
            cases += [
                Case(name, type, params, weights, (MATRIX,)),
                Case(f"{name} with states", type, params, weights, shapes, tops=1 + states),
            ]
    return cases


def _einsums() -> list[Case]:
    equations: dict[str, tuple[Shape, ...]] = {
        # ncnn's results have the labels i, j, k, l in this order.
        "ji->ij": (MATRIX,),
        "jki->i": ((4, 3, 5),),
        "ij,j->i": (MATRIX, (9,)),
        "i,j->ij": ((5,), (3,)),
        "ik,kj->ij": ((6, 9), (9, 4)),
        "ijl,ilk->ijk": ((3, 6, 9), (3, 9, 4)),
        "ik,jkl,il->ij": ((6, 9), (4, 9, 5), (6, 5)),
        "imnj,kmln->ijkl": ((2, 3, 5, 4), (6, 3, 7, 5)),
    }
    return [
        Case(equation, "Einsum", {0: [ord(letter) for letter in equation]}, (), shapes)
        for equation, shapes in equations.items()
    ]


def _pools() -> list[Case]:
    windows: dict[str, Params] = {
        "full": {1: 3, 2: 2},
        "full with padding": {1: 3, 2: 2, 3: 1},
        "full of 2": {1: 2, 2: 2},
        "valid": {1: 3, 2: 2, 5: 1},
        "valid with padding": {1: 3, 2: 2, 3: 1, 5: 1},
        "uneven": {1: 3, 11: 2, 2: 2, 12: 1, 3: 0, 14: 1, 13: 1, 15: 0, 5: 1},
        "counted": {1: 3, 2: 2, 3: 1, 6: 1},
        "counted valid": {1: 3, 2: 2, 3: 1, 5: 1, 6: 1},
        "same upper": {1: 3, 2: 2, 5: 2},
        "same lower": {1: 2, 2: 2, 5: 3},
        "global": {4: 1},
        "adaptive": {7: 1, 8: 3, 18: 7},
        "adaptive uneven": {7: 1, 8: 4, 18: 5},
        "adaptive width": {7: 1, 8: -233, 18: 2},
    }
    return [
        Case(
            f"{'AVG' if kind else 'MAX'} {name} of {shape}",
            "Pooling",
            {0: kind, **params},
            (),
            (shape,),
        )
        for kind, (name, params), shape in itertools.product(
            (0, 1), windows.items(), (IMAGE, (3, 8, 8))
        )
    ] + [
        Case("nearest", "Interp", {0: 1, 1: 2.0, 2: 2.0}),
        Case("nearest size", "Interp", {0: 1, 3: 10, 4: 13}),
        Case("nearest shrunk", "Interp", {0: 1, 1: 0.5, 2: 0.4}),
        Case("linear", "Interp", {0: 2, 1: 2.0, 2: 1.5}),
        Case("linear size", "Interp", {0: 2, 3: 10, 4: 13}),
        Case("linear aligned", "Interp", {0: 2, 3: 10, 4: 13, 6: 1}),
        Case("cubic", "Interp", {0: 3, 1: 2.0, 2: 3.0}),
        Case("cubic size", "Interp", {0: 3, 3: 10, 4: 13}),
        Case("cubic shrunk", "Interp", {0: 3, 3: 3, 4: 4}),
        Case("cubic aligned", "Interp", {0: 3, 3: 10, 4: 13, 6: 1}),
        Case("like another", "Interp", {0: 2, 5: 1}, (), (IMAGE, (2, 11, 12))),
        Case("vector", "Interp", {0: 2, 3: 4, 4: 5}, (), (VECTOR,)),
        Case("rows", "Interp", {0: 2, 3: 6, 4: 13}, (), (MATRIX,)),
        Case("expression", "Interp", {0: 1, 9: "*(0w,2),+(0h,3)"}),
    ]


def _activations() -> list[Case]:
    plain = "AbsVal BNLL Erf GELU HardSigmoid Mish ReLU Sigmoid Softplus Swish TanH ELU SELU CELU"
    cases = [Case("plain", type, {}) for type in plain.split()]
    cases += [
        Case("slope", "ReLU", {0: 0.1}),
        Case("fast", "GELU", {0: 1}),
        Case("alpha", "ELU", {0: 0.7}),
        Case("alpha", "CELU", {0: 0.7}),
        Case("parameters", "HardSigmoid", {0: 0.3, 1: 0.4}),
        Case("default", "HardSwish", {}),
        Case("sixth", "HardSwish", {0: 1 / 6, 1: 0.5}),
        Case("bounds", "Clip", {0: -1.0, 1: 0.5}),
        Case("open", "Clip", {0: 0.25}),
        Case("shared", "PReLU", {0: 1}, (random(1, seed=3),)),
        Case("power", "Power", {0: 2.0, 1: 0.5, 2: 1.5}),
        Case("linear", "Power", {1: 0.5, 2: 1.5}),
        Case("base e", "Exp", {1: 0.5, 2: 0.1}),
        Case("base 2", "Exp", {0: 2.0, 1: 0.5}),
        Case("base e", "Log", {1: 0.5, 2: 2.0}),
        Case("base 2", "Log", {0: 2.0, 2: 4.0}),
        Case("image", "Bias", {0: 6}, (random(6, seed=4),)),
        Case("soft", "Shrink", {0: 0.5, 1: 0.5}),
        Case("hard", "Shrink", {1: 1.0}),
        Case("channels", "GLU", {}),
        Case("last", "GLU", {0: -1}, (), ((6, 8),)),
        Case("vector", "GLU", {}, (), (VECTOR,)),
        Case("scale", "Dropout", {0: 0.5}),
        Case("plain", "Dropout", {}),
    ]
    for shape, name in ((IMAGE, "image"), (MATRIX, "matrix"), (VECTOR, "vector")):
        c = shape[0]
        r = random(c, seed=4)
        cases += [
            Case(name, "PReLU", {0: c}, (r,), (shape,)),
            Case(name, "Scale", {0: c}, (r,), (shape,)),
            Case(f"{name} with bias", "Scale", {0: c, 1: 1}, (r, random(c, seed=5)), (shape,)),
            Case(
                name,
                "BatchNorm",
                {0: c, 1: 0.001},
                (r, random(c, seed=5), random(c, seed=6, low=0.1), random(c, seed=7)),
                (shape,),
            ),
        ]
    cases.append(Case("computed", "Scale", {0: -233}, (), (IMAGE, (6,))))
    cases += [
        Case(f"{kind}", "UnaryOp", {0: kind}, low=0.1) for kind in (0, 1, 4, 5, 6, 7, 8, 15, 16, 17)
    ]
    cases += [Case(f"{kind}", "UnaryOp", {0: kind}) for kind in (2, 3, 9, 10, 18)]
    # Values beside a pole of the tangent are ill-conditioned.
    cases.append(Case("11", "UnaryOp", {0: 11}, (), (VECTOR,)))
    return cases


def _binaries() -> list[Case]:
    pairs: list[tuple[Shape, Shape]] = [
        (IMAGE, IMAGE),
        (IMAGE, (6,)),
        (IMAGE, (9,)),
        ((6,), IMAGE),
        (IMAGE, (1,)),
        (IMAGE, (6, 1, 1)),
        (IMAGE, (1, 7, 9)),
        (IMAGE, (6, 7)),
        (MATRIX, (6,)),
        (MATRIX, (9,)),
        ((9,), MATRIX),
        (VECTOR, VECTOR),
    ]
    cases = [Case(f"{a} {b}", "BinaryOp", {0: 1}, (), (a, b)) for a, b in pairs]
    cases += [
        Case(f"function {kind}", "BinaryOp", {0: kind}, (), (IMAGE, IMAGE), low=0.1)
        for kind in range(10)
    ]
    cases += [
        Case(f"scalar {kind}", "BinaryOp", {0: kind, 1: 1, 2: 1.5}, low=0.1) for kind in range(10)
    ]
    for kind in range(3):
        cases.append(Case(f"{kind}", "Eltwise", {0: kind}, (), (IMAGE,) * 3))
    cases.append(Case("weighted", "Eltwise", {0: 1, 1: [0.5, -2.0]}, (), (IMAGE,) * 2))
    return cases


def _movements() -> list[Case]:
    shapes = (IMAGE, MATRIX, VECTOR)
    cases = [
        Case("channels", "Concat", {}, (), (IMAGE, (2, 7, 9))),
        Case("rows", "Concat", {0: 1}, (), (IMAGE, (6, 2, 9))),
        Case("last", "Concat", {0: -1}, (), (MATRIX, (6, 2))),
        Case("vectors", "Concat", {}, (), (VECTOR, (3,))),
        Case("sizes", "Slice", {0: [2, -233, -233]}, tops=3),
        Case("axis", "Slice", {0: [4, -233], 1: 2}, tops=2),
        Case("negative axis", "Slice", {0: [-233, -233], 1: -1}, (), ((6, 7, 8),), tops=2),
        Case("ends", "Slice", {2: [2, -1], 1: 1}, tops=3),
        Case("vector", "Slice", {0: [5, 7]}, (), (VECTOR,), tops=2),
        Case("two", "Split", {}, tops=2),
        Case("numpy", "Crop", {9: [1, 2], 10: [4, -1], 11: [0, 2]}),
        Case("numpy to the end", "Crop", {9: [-3], 10: [-233], 11: [1]}),
        Case("offsets", "Crop", {0: 1, 1: 2, 2: 3, 3: 4, 4: 3, 5: 2}),
        Case("rest", "Crop", {0: 1, 1: 2, 2: 3, 3: -233, 4: -233, 5: -233}),
        Case("both ends", "Crop", {0: 1, 1: 2, 3: -233, 4: -233, 5: -233, 6: 2, 7: 1}),
        Case("like another", "Crop", {0: 1, 1: 2}, (), (IMAGE, (6, 4, 5))),
        Case("expression", "Crop", {19: "1,//(0w,3)", 20: "4,-(0w,1)", 21: "0,2"}),
        Case("vector", "Crop", {9: [1], 10: [5], 11: [0]}, (), (VECTOR,)),
        Case("rest", "Reshape", {0: -1}),
        Case("matrix", "Reshape", {0: 9, 1: -1}),
        Case("copies", "Reshape", {0: 0, 1: -1, 2: 3}),
        Case("volume", "Reshape", {0: 3, 1: 3, 11: 7, 2: 6}),
        Case("expression", "Reshape", {6: "0h,0w,0c"}),
        Case("axes", "Squeeze", {3: [0, 2]}, (), ((1, 7, 1),)),
        Case("names", "Squeeze", {0: 1, 1: 1, 2: 1}, (), ((5, 1, 1),)),
        Case("front", "ExpandDims", {3: [0]}, (), (MATRIX,)),
        Case("back", "ExpandDims", {3: [-1]}, (), (MATRIX,)),
        Case("two", "ExpandDims", {3: [1, 2]}, (), (VECTOR,)),
        Case("constant", "Padding", {0: 1, 1: 2, 2: 3, 3: 0, 5: 0.5}),
        Case("edge", "Padding", {0: 1, 1: 2, 2: 3, 3: 0, 4: 1}),
        Case("reflect", "Padding", {0: 1, 1: 2, 2: 3, 3: 0, 4: 2}),
        Case("channels", "Padding", {7: 1, 8: 2}),
        Case("value per channel", "Padding", {0: 1, 1: 2, 2: 3, 6: 6}, (random(6, seed=4),)),
        Case("all sides", "Padding", {0: 1, 2: 3, 6: 9, 7: 1, 8: 2}, (random(9, seed=4),)),
        *(
            Case(
                f"{kind} {padding} {corners} {order}",
                "GridSample",
                {0: kind, 1: padding, 2: corners, 3: order},
                (),
                (IMAGE, (2, 5, 4) if order else (5, 4, 2)),
                scale=1.5,  # ncnn reflects a place only once
            )
            for kind, padding, corners, order in itertools.product(
                (1, 2, 3), (1, 2, 3), (0, 1), (0, 1)
            )
        ),
        Case("matrix", "Padding", {0: 1, 1: 2, 2: 3, 3: 1}, (), (MATRIX,)),
        Case("axis", "Tile", {0: 1, 1: 2}),
        Case("repeats", "Tile", {2: [2, 1, 3]}),
        Case("plain", "ShuffleChannel", {0: 2}),
        Case("reverse", "ShuffleChannel", {0: 2, 1: 1}),
        Case("plain", "PixelShuffle", {0: 2}, (), ((12, 3, 5),)),
        Case("slowest", "PixelShuffle", {0: 2, 1: 1}, (), ((12, 3, 5),)),
        Case("plain", "Reorg", {0: 2}, (), ((3, 6, 8),)),
        Case("slowest", "Reorg", {0: 2, 1: 1}, (), ((3, 6, 8),)),
    ]
    cases += [Case(f"{len(s)}", "Flatten", {}, (), (s,)) for s in shapes]
    cases += [Case(f"{i} of 3", "Permute", {0: i}) for i in range(6)]
    cases += [Case(f"{i} of 2", "Permute", {0: i}, (), (MATRIX,)) for i in range(2)]
    cases += [Case(f"{i} of 4", "Permute", {0: i}, (), ((2, 3, 4, 5),)) for i in range(24)]
    return cases


def _normalizations() -> list[Case]:
    scale, shift = random(6, seed=2), random(6, seed=3)
    cases = [
        Case("across", "LRN", {1: 3, 2: 2.0, 3: 0.5, 4: 1.5}),
        Case("within", "LRN", {0: 1, 1: 3, 2: 2.0, 4: 1.5}),
        Case("mean", "MVN", {}),
        Case("variance", "MVN", {0: 1}),
        Case("image", "MVN", {0: 1, 1: 1, 2: 0.01}),
        Case("plain", "InstanceNorm", {0: 6}, (scale, shift)),
        Case("no factors", "InstanceNorm", {0: 0, 1: 0.01, 2: 0}),
        Case("plain", "GroupNorm", {0: 2, 1: 6}, (scale, shift)),
        Case("no factors", "GroupNorm", {0: 3, 1: 6, 2: 0.01, 3: 0}),
        Case("matrix", "GroupNorm", {0: 2, 1: 6}, (scale, shift), (MATRIX,)),
        Case("rows", "LayerNorm", {0: 9}, (random(9, seed=2), random(9, seed=3)), (MATRIX,)),
        Case("rows of images", "LayerNorm", {0: 9, 2: 0}),
        Case("planes", "LayerNorm", {0: 63}, (random(63, seed=2), random(63, seed=3))),
    ]
    cases += [
        Case("rows", "RMSNorm", {0: 9}, (random(9, seed=2),), (MATRIX,)),
        Case("rows of images", "RMSNorm", {0: 9, 1: 0.01, 2: 0}),
        Case("planes", "RMSNorm", {0: 63}, (random(63, seed=2),)),
        Case("vector", "RMSNorm", {0: 12}, (random(12, seed=2),), (VECTOR,)),
    ]
    for spatial, across, mode in itertools.product((0, 1), (0, 1), (0, 1, 2)):
        if spatial or across:
            params: Params = {0: spatial, 2: 0.1, 3: 6, 4: across, 9: mode}
            cases.append(Case(f"{spatial}{across}{mode}", "Normalize", params, (scale,)))
    cases.append(Case("shared", "Normalize", {1: 1, 3: 1, 4: 1}, (scale[:1],)))
    for shape in (IMAGE, MATRIX, VECTOR):
        for axis in range(len(shape)):
            params = {0: axis, 1: 1}
            cases.append(Case(f"{axis} of {len(shape)}", "Softmax", params, (), (shape,)))
    cases.append(Case("last", "Softmax", {0: -1, 1: 1}))
    return cases


def _reductions() -> list[Case]:
    cases = [
        Case(f"{kind}", "Reduction", {0: kind, 1: 0, 2: 0.5, 3: [1, 2], 5: 1}, low=0.1)
        for kind in (0, 1, 2, 3, 4, 5, 7, 8, 9, 10)
    ]
    cases += [
        Case(f"kept {axes}", "Reduction", {0: 3, 1: 0, 3: axes, 4: 1, 5: 1})
        for axes in ([0], [1], [-1], [0, 2])
    ]
    cases += [
        Case("all", "Reduction", {0: 0}),
        Case("all kept", "Reduction", {0: 3, 4: 1}),
        Case("vector", "Reduction", {0: 4, 1: 0, 3: [0], 5: 1}, (), (VECTOR,)),
        *(Case(f"{axis}", "CumulativeSum", {0: axis}) for axis in (0, 1, 2, -1)),
        Case("rows", "CumulativeSum", {0: 1}, (), (MATRIX,)),
        Case("vector", "CumulativeSum", {}, (), (VECTOR,)),
        Case("dropped", "Reduction", {0: 4, 1: 0, 3: [0], 5: 1}),
    ]
    return cases


def cases() -> list[Case]:
    """All cases."""
    return [
        *convolutions(),
        *_matrices(),
        *_recurrent(),
        *_einsums(),
        *_pools(),
        *_activations(),
        *_binaries(),
        *_movements(),
        *_normalizations(),
        *_reductions(),
    ]
