"""Pattern matching of formulas that exporters compose of primitive operators."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from trimtab.passes._graph import Graph

# Constants in model files are rounded to float32, some of them twice.
TOLERANCE = 1e-5


def near(a: float, b: float) -> bool:
    """True if `a` equals `b` within rounding errors."""
    return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


@dataclass(frozen=True)
class Product:
    """The product of `scale` and the variables `factors`."""

    scale: float
    factors: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """The affine function scale x + shift of the variable `x`."""

    x: str
    scale: float
    shift: float


def products(graph: Graph, root: str, depth: int = 4) -> Iterator[Product]:
    """All expansions of `root` as a product, through mul and through div by a constant."""
    queue = [(Product(1.0, (root,)), depth)]
    while queue:
        product, remaining = queue.pop(0)
        yield product
        for i, name in enumerate(product.factors):
            op = graph.producer(name, "mul", "div") if remaining > 0 else None
            if op is None:
                continue
            a, b = op.inputs
            constant = graph.scalar(b)  # canonicalize_operands put it second
            scale, factors = product.scale, [*product.factors[:i], *product.factors[i + 1 :], a]
            if constant is None:
                factors.append(b)
            elif op.type == "mul":
                scale *= constant
            else:
                scale = scale / constant if constant else math.nan
            is_product = op.type == "mul" or constant is not None
            if is_product and graph.have_same_shape(*factors, root):
                queue.append((Product(scale, tuple(factors)), remaining - 1))


def lines(graph: Graph, root: str) -> Iterator[Line]:
    """All expansions of `root` as scale x + shift with constants, beginning with x = root."""
    line = Line(root, 1.0, 0.0)
    while True:
        yield line
        op = graph.producer(line.x, "add", "sub", "mul", "div", "neg")
        if op is None:
            return
        scale, shift = line.scale, line.shift
        if op.type == "neg":
            line = Line(op.inputs[0], -scale, shift)
            continue
        a, b = op.inputs
        x, constant, swapped = (a, graph.scalar(b), False)
        if constant is None:
            x, constant, swapped = b, graph.scalar(a), True
        if constant is None or not graph.have_same_shape(x, op.outputs[0]):
            return
        match op.type:
            case "add":
                line = Line(x, scale, shift + scale * constant)
            case "sub" if swapped:
                line = Line(x, -scale, shift + scale * constant)
            case "sub":
                line = Line(x, scale, shift - scale * constant)
            case "mul":
                line = Line(x, scale * constant, shift)
            case "div" if not swapped and constant != 0:
                line = Line(x, scale / constant, shift)
            case _:
                return


def is_line(graph: Graph, root: str, x: str, scale: float, shift: float) -> bool:
    """True if `root` is scale x + shift."""
    return any(
        line.x == x and near(line.scale, scale) and near(line.shift, shift)
        for line in lines(graph, root)
    )


def operand(graph: Graph, name: str, *types: str) -> str:
    """The first operand of the operator that computes `name`, if it is one of `types`, else ""."""
    op = graph.producer(name, *types)
    return "" if op is None else op.inputs[0]


def pairs(product: Product) -> Iterator[tuple[str, str]]:
    """Both orders of the factors of a product of two variables."""
    if len(product.factors) == 2:
        a, b = product.factors
        yield a, b
        yield b, a
