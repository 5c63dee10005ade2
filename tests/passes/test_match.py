"""Recognition of activations composed of primitive operators."""

from __future__ import annotations

import math

import pytest

from tests.small_programs import Net, after, types
from trimtab import schema
from trimtab.passes._graph import Graph
from trimtab.passes._match import products

ACTIVATIONS = sorted(
    name
    for name, op in schema.operators().items()
    if op.activation and name not in ("relu", "clip", "log", "sqrt")
)


def formula(name: str, net: Net) -> str:
    """A function as exporters spell it."""
    x = "x"
    half = net("mul", x, 0.5) if name == "gelu-halved-first" else ""
    bounded = net("clip", net("add", x, 3.0), alpha=0.0, beta=6.0) if "hard" in name else ""
    match name:
        case "swish":
            return net("mul", x, net("sigmoid", x))
        case "swish-scaled":
            return net("mul", net("sigmoid", net("mul", x, 1.702)), x)
        case "hard_swish-divided":
            return net("div", net("mul", x, bounded), 6.0)
        case "hard_swish-gate-first":
            return net("mul", net("div", bounded, 6.0), x)
        case "hard_swish-factor":
            return net("mul", net("mul", x, 1 / 6), bounded)
        case "hard_swish-of-hard_sigmoid":
            return net("mul", x, net("hard_sigmoid", x, alpha=1 / 6, beta=0.5))
        case "hard_sigmoid":
            return net("div", bounded, 6.0)
        case "mish":
            return net("mul", x, net("tanh", net("softplus", x)))
        case "mish-primitive":
            return net("mul", x, net("tanh", net("log", net("add", net("exp", x), 1.0))))
        case "softplus":
            return net("log", net("add", net("exp", x), 1.0))
        case "gelu":
            gate = net("add", net("erf", net("div", x, math.sqrt(2))), 1.0)
            return net("mul", net("mul", x, gate), 0.5)
        case "gelu-halved-first":
            return net("mul", half, net("add", net("erf", net("mul", x, math.sqrt(0.5))), 1.0))
        case _:
            cube = net("mul", net("pow", x, 3.0), 0.044715)
            inner = net("tanh", net("mul", net("add", x, cube), math.sqrt(2 / math.pi)))
            return net("mul", net("mul", x, 0.5), net("add", inner, 1.0))


@pytest.mark.parametrize(
    ("name", "type"),
    [
        ("swish", "swish"),
        ("swish-scaled", "swish"),
        ("hard_swish-divided", "hard_swish"),
        ("hard_swish-gate-first", "hard_swish"),
        ("hard_swish-factor", "hard_swish"),
        ("hard_swish-of-hard_sigmoid", "hard_swish"),
        ("hard_sigmoid", "hard_sigmoid"),
        ("mish", "mish"),
        ("mish-primitive", "mish"),
        ("softplus", "softplus"),
        ("gelu", "gelu"),
        ("gelu-halved-first", "gelu"),
        ("gelu-tanh", "gelu"),
    ],
)
def test_a_formula_is_recognized(name: str, type: str) -> None:
    net = Net(x=(1, 6, 5, 5))
    program = net.finish(formula(name, net))
    recognize = [f"recognize_{f}" for f in ("hard_sigmoid", "hard_swish", "swish", "mish", "gelu")]
    assert types(after(program, "eliminate_dead_code", *recognize)) == [type]


def test_formulas_with_another_constant_are_not_recognized() -> None:
    net = Net(x=(1, 6))
    wrong = net("mul", "x", net("clip", net("add", "x", 2.0), alpha=0.0, beta=6.0))
    shifted = net("mul", "x", net("sigmoid", net("add", "x", 1.0)))
    half = net("mul", "x", net("hard_sigmoid", "x", alpha=0.2, beta=0.5))
    recognize = [f"recognize_{f}" for f in ("hard_sigmoid", "hard_swish", "swish")]
    result = types(after(net.finish(wrong, shifted, half), *recognize))
    assert not {"swish", "hard_swish"} & set(result)


def test_intermediate_results_with_other_readers_remain() -> None:
    net = Net(x=(1, 6))
    gate = net("sigmoid", "x")
    program = net.finish(net("mul", "x", gate), net("neg", gate))
    assert types(after(program, "recognize_swish")) == ["sigmoid", "swish", "neg"]


@pytest.mark.parametrize("depth", [0, 2, 4])
def test_a_product_is_expanded_through_a_limited_number_of_operators(depth: int) -> None:
    net = Net(x=(1, 4))
    y = "x"
    for _ in range(6):
        y = net("mul", y, 2.0)
    graph = Graph(net.finish(y))
    assert [one.scale for one in products(graph, y, depth)] == [2.0**n for n in range(depth + 1)]
