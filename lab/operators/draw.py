"""Draws single operators and short chains by seed: half are cut from the zoo, half are of families
with odd sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, cycle, zip_longest
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper, parser, shape_inference, utils

from trimtab import files, zoo
from trimtab.progress import SILENT, Progress

_LONGEST = 3  # operators of a chain
_FEWEST, _MOST = 10_000, 4_000_000  # elements of the results: calls dominate fewer
_CONSTANTS = ("Constant", "Shape", "Identity")

Rng = np.random.Generator
Array = NDArray[np.generic]


@dataclass(frozen=True)
class DrawnCase:
    """A model of one to three operators. `kind`: their types."""

    name: str
    kind: str
    model: onnx.ModelProto

    def write(self, folder: Path) -> Path:
        """Writes the model as NAME.onnx; returns its path."""
        path = folder / f"{self.name}.onnx"
        files.write_bytes(path, self.model.SerializeToString(deterministic=True))
        return path


@dataclass(frozen=True)
class _Text:
    """A case of a family: nodes in ONNX's text, from `x` to `y`; shapes of inputs, constants."""

    nodes: str
    x: Sequence[int]
    constants: Mapping[str, Array] = field(default_factory=dict)
    more: Mapping[str, Sequence[int]] = field(default_factory=dict)


def draw(count: int, seed: int, progress: Progress = SILENT) -> list[DrawnCase]:
    """`count` distinct cases; the same for the same seed and packages."""
    rng = np.random.default_rng(seed)
    of_zoo = _of_zoo(rng, count // 2, progress)
    odd: dict[bytes, tuple[str, onnx.ModelProto]] = {}
    for family in cycle(FAMILIES):
        if len(odd) >= count - len(of_zoo):
            break
        model = _parsed(FAMILIES[family](rng))
        if _FEWEST <= _elements(model) <= _MOST:
            odd.setdefault(_signature(model), (family, model))
    named = chain(((f"zoo-{network}", m) for network, m in of_zoo), odd.values())
    return [
        DrawnCase(f"{i:03}-{name}", "+".join(n.op_type for n in _working(model)), model)
        for i, (name, model) in enumerate(named)
    ]


def _working(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    return [node for node in model.graph.node if node.op_type not in _CONSTANTS]


def _signature(model: onnx.ModelProto) -> bytes:
    """Operators, attributes and shapes, which tell two cases apart; not names or weights."""
    nodes = [(n.op_type, [a.SerializeToString() for a in n.attribute]) for n in model.graph.node]
    types = [v.type.SerializeToString() for v in (*model.graph.input, *model.graph.output)]
    return repr((nodes, types, [tuple(t.dims) for t in model.graph.initializer])).encode()


def _size(value: onnx.ValueInfoProto) -> int:
    dims = value.type.tensor_type.shape.dim
    return int(np.prod([dim.dim_value for dim in dims])) if dims else 0


def _elements(model: onnx.ModelProto) -> int:
    return max(map(_size, (*model.graph.input, *model.graph.output)))


def _of_zoo(rng: Rng, count: int, progress: Progress) -> list[tuple[str, onnx.ModelProto]]:
    """Cuts of the zoo's networks: as many of each operator as there are."""
    by_type: dict[str, list[tuple[str, onnx.ModelProto]]] = {}
    signatures = set()
    with progress.step("cut the zoo", "networks") as step:
        for done, name in enumerate(zoo.names(), 1):
            whole = shape_inference.infer_shapes(onnx.load(zoo.cached(name, progress)))
            for model in _cuts(whole, rng):
                if _signature(model) not in signatures:
                    signatures.add(_signature(model))
                    by_type.setdefault(_working(model)[0].op_type, []).append((name, model))
            step.update(done, len(zoo.names()))
    for cases in by_type.values():
        rng.shuffle(cases)
    in_turn = chain.from_iterable(zip_longest(*by_type.values()))
    return [case for case in in_turn if case][:count]


def _cuts(whole: onnx.ModelProto, rng: Rng) -> Iterator[onnx.ModelProto]:
    """Chains of a network: one for each node, of it and the nodes behind it."""
    graph = whole.graph
    users: dict[str, list[onnx.NodeProto]] = {}
    for node in graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)
    described = {value.name: value for value in (*graph.value_info, *graph.input, *graph.output)}
    fixed = {t.name for t in graph.initializer}
    fixed |= {o for n in graph.node if n.op_type in _CONSTANTS for o in n.output}
    extractor = utils.Extractor(whole)
    for node in graph.node:
        nodes = [node]
        for _ in range(int(rng.integers(_LONGEST))):
            behind = users.get(nodes[-1].output[0], [])
            if len(behind) != 1:
                break
            nodes += behind
        inner = {name for n in nodes for name in n.output}
        fed = [i for n in nodes for i in n.input if i and i not in inner and i not in fixed]
        names = [*dict.fromkeys(fed), nodes[-1].output[0]]
        values = [described[name] for name in names if name in described]
        floats = all(v.type.tensor_type.elem_type == onnx.TensorProto.FLOAT for v in values)
        if len(values) < len(names) or len(names) < 2 or not floats:
            continue
        if node.op_type not in _CONSTANTS and _FEWEST <= max(map(_size, values)) <= _MOST:
            yield extractor.extract_model(names[:-1], names[-1:])


def _parsed(case: _Text) -> onnx.ModelProto:
    """The model of a family's case, with the shapes of its results."""
    shapes = {"x": case.x, **case.more}
    inputs = ", ".join(f"float[{','.join(map(str, s))}] {n}" for n, s in shapes.items())
    text = f'<ir_version: 8, opset_import: ["" : 18]> g ({inputs}) => (y) {{ {case.nodes} }}'
    model = parser.parse_model(text)
    for name, array in case.constants.items():
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    return shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)


def _normal(rng: Rng, *shape: int) -> Array:
    return rng.standard_normal(shape, np.float32) / np.float32(np.sqrt(np.prod(shape[1:])))


def _int64(*values: int) -> Array:
    return np.array(values, np.int64)


def _floats(*values: float) -> Array:
    return np.array(values, np.float32)


def _image(rng: Rng, channels: Sequence[int] = (3, 8, 24, 33, 64, 96, 160)) -> list[int]:
    side = int(rng.choice([13, 20, 28, 31, 32, 56, 57, 80, 112]))
    return [1, int(rng.choice(channels)), side, side + int(rng.integers(2))]


def _conv(rng: Rng) -> _Text:
    x = _image(rng, (1, 1, 3, 3, 8, 16, 24, 48, 64, 128))
    out, k, s = (int(rng.choice(of)) for of in ((1, 3, 8, 16, 24, 64), (1, 3, 3, 5), (1, 1, 2)))
    p = k // 2
    nodes = f"y = Conv<strides=[{s},{s}],pads=[{p},{p},{p},{p}]>(x, w, b)"
    return _Text(nodes, x, {"w": _normal(rng, out, x[1], k, k), "b": _normal(rng, out)})


def _grouped(rng: Rng) -> _Text:
    x = _image(rng, (32, 64, 96, 128))
    k, group = int(rng.choice([3, 5, 7, 7])), x[1] // int(rng.choice([1, 1, 1, 4, 8]))
    p = k // 2
    w = _normal(rng, x[1], x[1] // group, k, k)
    return _Text(f"y = Conv<group={group},pads=[{p},{p},{p},{p}]>(x, w)", x, {"w": w})


def _transposed(rng: Rng) -> _Text:
    x, k = _image(rng, (8, 16, 32)), int(rng.choice([2, 3, 4]))
    w = _normal(rng, x[1], int(rng.choice([3, 8, 16])), k, k)
    return _Text("y = ConvTranspose<strides=[2,2]>(x, w)", x, {"w": w})


def _select(rng: Rng) -> _Text:
    relation = rng.choice(["Greater", "Less", "LessOrEqual", "Equal"])
    x, one = _image(rng), _floats(0.1)
    second = str(rng.choice(["c", "z"]))
    nodes = f"m = {relation}(x, c) y = Where(m, x, {second})"
    return _Text(nodes, x, {"c": one}, {"z": x} if second == "z" else {})


def _arg_max(rng: Rng) -> _Text:
    axis = int(rng.choice([1, 1, 2, -1]))
    return _Text(f"y = ArgMax<axis={axis},keepdims=0>(x)", _image(rng, (2, 19, 21, 64)))


def _pad(rng: Rng) -> _Text:
    p, mode = int(rng.choice([1, 3, 10])), rng.choice(["reflect", "reflect", "edge", "constant"])
    pads = _int64(0, 0, p, p, 0, 0, p, p)
    return _Text(f'y = Pad<mode="{mode}">(x, p)', _image(rng), {"p": pads})


def _resize(rng: Rng) -> _Text:
    x, factor = _image(rng, (1, 3, 8, 21, 64)), int(rng.choice([2, 2, 4, 8]))
    mode = rng.choice(["linear", "linear", "nearest", "cubic"])
    how = rng.choice(["half_pixel", "align_corners", "asymmetric"])
    how = "asymmetric" if mode == "nearest" else how
    nearest = ',nearest_mode="floor"' * (mode == "nearest")
    nodes = f'y = Resize<mode="{mode}",coordinate_transformation_mode="{how}"{nearest}>(x, , s)'
    return _Text(nodes, x, {"s": _floats(1, 1, factor, factor)})


def _softmax(rng: Rng) -> _Text:
    if rng.integers(2):
        return _Text("y = Softmax<axis=1>(x)", _image(rng, (2, 4, 21, 64)))
    return _Text("y = Softmax(x)", [int(rng.integers(4, 13)), 500, int(rng.choice([4, 49, 196]))])


def _normalized(rng: Rng) -> _Text:
    x = _image(rng, (8, 32, 64, 96))
    if rng.integers(2):
        constants = {"s": _normal(rng, x[1]), "b": _normal(rng, x[1])}
        return _Text("y = InstanceNormalization(x, s, b)", x, constants)
    x = [1, x[2] ** 2, x[1]]
    return _Text("y = LayerNormalization(x, s)", x, {"s": _normal(rng, x[2])})


def _broadcast(rng: Rng) -> _Text:
    x, op = _image(rng), rng.choice(["Mul", "Add", "Sub", "Div"])
    shape = [(1, x[1], 1, 1), (1, 1, 1, x[3]), (1, 1, x[2], x[3])][int(rng.integers(3))]
    return _Text(f"y = {op}(x, c)", x, {"c": 1 + rng.random(shape, np.float32)})


def _reduce(rng: Rng) -> _Text:
    op, axes = rng.choice(["ReduceMean", "ReduceMax", "ReduceSum"]), [(2, 3), (1,), (3,)]
    chosen = _int64(*axes[int(rng.integers(3))])
    return _Text(f"y = {op}<keepdims=1>(x, a)", _image(rng), {"a": chosen})


def _moved(rng: Rng) -> _Text:
    x = _image(rng, (8, 24, 64))
    perm = ",".join(map(str, rng.permutation(4)))
    half = {"b": _int64(0), "e": _int64(x[1] // 2), "a": _int64(1), "s": _int64(2)}
    return [
        _Text(f"y = Transpose<perm=[{perm}]>(x)", x),
        _Text("y = Concat<axis=1>(x, z)", x, more={"z": x}),
        _Text("y = Slice(x, b, e, a)", x, half),
        _Text("l, r = Split<axis=1,num_outputs=2>(x) y = Mul(l, r)", x),
        _Text("y = DepthToSpace<blocksize=2>(x)", x),
    ][int(rng.integers(5))]


def _gather(rng: Rng) -> _Text:
    x = _image(rng, (8, 24, 64))
    axis = int(rng.integers(1, 4))
    index = rng.integers(0, x[axis], 2 * x[axis])
    return _Text(f"y = Gather<axis={axis}>(x, i)", x, {"i": index})


def _mat_mul(rng: Rng) -> _Text:
    heads, rows, depth = (int(rng.choice(of)) for of in ((1, 3, 6), (49, 196, 400), (32, 64)))
    return _Text("y = MatMul(x, z)", [1, heads, rows, depth], more={"z": [1, heads, depth, rows]})


def _suppression(rng: Rng) -> _Text:
    boxes, classes = 900 * int(rng.integers(3, 31)), int(rng.choice([1, 1, 4]))
    centers = np.concatenate([rng.random((boxes, 2)) * 600, 20 + rng.random((boxes, 2)) * 40], 1)
    constants = {"a": centers.astype(np.float32), "m": _int64(300)}
    constants |= {"t": _floats(0.5), "q": _floats(0.6)}
    nodes = "b = Add(x, a) y = NonMaxSuppression<center_point_box=1>(b, z, m, t, q)"
    return _Text(nodes, [1, boxes, 4], constants, {"z": [1, classes, boxes]})


def _folded(rng: Rng) -> _Text:
    side, channels, k = int(rng.integers(16, 57)), int(rng.choice([3, 16, 64])), 3
    nodes = "y = Col2Im<pads=[1,1,1,1]>(x, i, k)"
    constants = {"i": _int64(side, side), "k": _int64(k, k)}
    return _Text(nodes, [1, channels * k * k, side * side], constants)


def _pool(rng: Rng) -> _Text:
    op, k, s = (
        rng.choice(["MaxPool", "AveragePool"]),
        int(rng.choice([2, 3, 5])),
        rng.integers(1, 3),
    )
    return _Text(f"y = {op}<kernel_shape=[{k},{k}],strides=[{s},{s}]>(x)", _image(rng))


def _top_k(rng: Rng) -> _Text:
    x = [int(rng.integers(1, 30)), int(rng.choice([400, 1000, 8400]))]
    return _Text("y, i = TopK(x, k)", x, {"k": _int64(int(rng.choice([5, 100])))})


def _activation(rng: Rng) -> _Text:
    nodes = [
        "y = Erf(x)",
        "y = HardSwish(x)",
        "s = Sigmoid(x) y = Mul(x, s)",
        "s = Softplus(x) t = Tanh(s) y = Mul(x, t)",
        "y = Exp(x)",
        "y = LeakyRelu(x)",
    ]
    return _Text(str(rng.choice(nodes)), _image(rng))


FAMILIES = {
    function.__name__[1:]: function
    for function in (
        *(_conv, _grouped, _transposed, _select, _arg_max, _pad, _resize, _softmax, _normalized),
        *(_broadcast, _reduce, _moved, _gather, _mat_mul, _suppression, _folded, _pool, _top_k),
        _activation,
    )
}
"""Functions that draw a case of a family."""
