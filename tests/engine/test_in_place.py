"""In-place results: the arena shrinks, and no value changes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import trimtab
from tests.engine.raw_runs import run_arrays
from tests.ops import oracle
from tests.ops.cases.case import Case, Const, Graph, ints, normal
from trimtab import _engine, modelfile
from trimtab.program.memory import activation_bytes
from trimtab.target import Target

SHAPE = (1, 16, 40, 40)  # of blocks for several threads
BYTES = 16 * 40 * 40 * 4

DIRECT = trimtab.Plan(algorithms=("direct",))  # with little scratch memory

Build = Callable[[Graph, str], tuple[str, ...]]


def conv(g: Graph, x: str, c_in: int, c_out: int, kernel: int = 1) -> str:
    weights = Const(normal(c_out, c_in, kernel, kernel) / np.float32(c_in * kernel))
    return g.node("Conv", x, weights, pads=[kernel // 2] * 4)


def chain(g: Graph, x: str) -> tuple[str, ...]:
    return (g.node("Neg", g.node("Tanh", g.node("Exp", x))),)


def square(g: Graph, x: str) -> tuple[str, ...]:
    e = g.node("Exp", x)
    return (g.node("Mul", e, e),)


def used_twice(g: Graph, x: str) -> tuple[str, ...]:
    e = g.node("Exp", x)
    return (g.node("Sub", e, g.node("Tanh", e)),)


def read_later(g: Graph, x: str) -> tuple[str, ...]:
    e = g.node("Exp", x)
    t = g.node("Tanh", e)
    return (g.node("Sub", g.node("Mul", t, g.node("Neg", t)), e),)


def squeeze_and_excite(g: Graph, x: str) -> tuple[str, ...]:
    e = conv(g, conv(g, x, 16, 4), 4, 32)
    gate = g.node("Tanh", g.node("GlobalAveragePool", e))
    return (conv(g, g.node("Mul", e, gate), 32, 2),)


def broadcast_first(g: Graph, x: str) -> tuple[str, ...]:
    e = conv(g, conv(g, x, 16, 4), 4, 32)
    return (conv(g, g.node("Sub", g.node("GlobalMaxPool", e), e), 32, 2),)


def output_between(g: Graph, x: str) -> tuple[str, ...]:
    e = g.node("Exp", x)
    return e, g.node("Neg", e)


def of_an_input(g: Graph, x: str) -> tuple[str, ...]:
    return (g.node("Sub", g.node("Neg", x), x),)


def of_a_view(g: Graph, x: str) -> tuple[str, ...]:
    flat = g.node("Reshape", g.node("Exp", x), ints(16, 1600))
    return (g.node("Sub", flat, Const(normal(16, 1))),)


def view_read_later(g: Graph, x: str) -> tuple[str, ...]:
    e = g.node("Exp", x)
    flat = g.node("Reshape", e, ints(16, 1600))
    return g.node("Neg", e), g.node("Tanh", flat)


def residual(g: Graph, x: str) -> tuple[str, ...]:
    a = conv(g, conv(g, x, 16, 4), 4, 32)
    return (conv(g, g.node("Add", conv(g, conv(g, a, 32, 4, 3), 4, 32), a), 32, 2),)


def residual_of_its_own_input(g: Graph, x: str) -> tuple[str, ...]:
    a = conv(g, conv(g, x, 16, 4), 4, 32)
    return (conv(g, g.node("Add", conv(g, a, 32, 32, 3), a), 32, 2),)


def halves_of_one(g: Graph, x: str) -> tuple[str, ...]:
    left = g.node("Split", conv(g, x, 16, 16, 3), ints(8, 8), outputs=2, axis=1)
    right = f"{left}.1"
    joined = g.node("Concat", g.node("Mul", left, right), g.node("Sub", right, left), axis=1)
    return (conv(g, joined, 16, 16),)


CASES: dict[str, tuple[Build, float]] = {
    "chain": (chain, 1),
    "square": (square, 1),
    "used_twice": (used_twice, 2),
    "read_later": (read_later, 3),
    "squeeze_and_excite": (squeeze_and_excite, 2.25),
    "broadcast_first": (broadcast_first, 2.25),
    "output_between": (output_between, 2),
    "of_an_input": (of_an_input, 1),
    "of_a_view": (of_a_view, 1),
    "view_read_later": (view_read_later, 2),
    "residual": (residual, 2.25),
    "residual_of_its_own_input": (residual_of_its_own_input, 4),
    "halves_of_one": (halves_of_one, 2),
}


def made(build: Build) -> Case:
    g = Graph()
    return g.case(build.__name__, *build(g, g.value(normal(*SHAPE))))


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("build", [build for build, _ in CASES.values()], ids=CASES)
def test_in_place_results_equal_those_of_separate_memory(build: Build, threads: int) -> None:
    case = made(build)
    before = {name: value.copy() for name, value in case.inputs.items()}
    expected = oracle.expected(case)
    session = trimtab.Session(trimtab.load(case.model), threads=threads)
    for _ in range(2):  # the second run starts with the first one's leftovers
        oracle.assert_agree(case, session.run(case.inputs), expected)
    for name, value in before.items():
        np.testing.assert_array_equal(case.inputs[name], value)


@pytest.mark.parametrize(("build", "tensors"), CASES.values(), ids=CASES)
def test_the_arena_contains_live_tensors(build: Build, tensors: float) -> None:
    program = trimtab.optimize(trimtab.load(made(build).model), Target.of("riscv64"), DIRECT)
    assert tensors * BYTES <= activation_bytes(program) < tensors * BYTES + 1024
    image = modelfile.encode(program)
    bound = _engine.Executor(image).memory()["arena_lower_bound_bytes"]
    scratch = BYTES // 4
    assert activation_bytes(program) <= bound <= activation_bytes(program) + scratch


def test_an_operand_shares_memory_unless_it_is_broadcast() -> None:
    g = Graph()
    x, scale = g.value(normal(1, 8, 6, 5)), g.value(normal(1, 8, 1, 1))
    case = g.case("sized", g.node("Sub", g.node("Tanh", scale), g.node("Exp", x)))
    engine = _engine.Executor(modelfile.encode(trimtab.optimize(trimtab.load(case.model))))
    for height, width in ((6, 5), (1, 1), (12, 5)):
        shape = (1, 8, height, width)
        inputs = [normal(*shape), normal(1, 8, 1, 1)]
        engine.resize_input(0, shape)
        (actual,) = run_arrays(engine, inputs)
        np.testing.assert_allclose(actual, np.tanh(inputs[1]) - np.exp(inputs[0]), 1e-4, 1e-5)
        # Two buffers, of which the small one is 64 bytes: aligned.
        large = max(8 * height * width * 4, 64)
        assert engine.memory()["arena_lower_bound_bytes"] == large + 64
