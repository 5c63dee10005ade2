"""Gradients of inputs (Caffe's force_backward), and what they say about in-place layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.importers.caffe_writer import head, layer, write
from tests.learning.networks import small
from tests.small_programs import Net, normal
from tests.some import some
from trimtab.errors import ProgramError, UsageError


def test_a_step_returns_the_gradients_of_inputs() -> None:
    net = Net(a=(3, 5), b=(3, 4), label=(3, 4))
    w, bias = normal(4, 5), normal(4)
    program = net.finish(net("sub", net("gemm", "a", w, bias), net("mul", "b", "b")))
    built = trimtab.training(program, loss="euclidean", force_backward=["*"])
    assert built.input_gradients.keys() == {"a", "b"}
    trainer = trimtab.Trainer(built)
    a, b, target = normal(3, 5), normal(3, 4), normal(3, 4)
    error = (a @ w.T + bias - b * b - target) / 3
    trainer.step({"a": a, "b": b, "label": target})
    np.testing.assert_allclose(trainer.input_gradients["a"], error @ w, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(trainer.input_gradients["b"], -2 * b * error, rtol=1e-4, atol=1e-5)


def test_labels_and_unknown_inputs_refuse_gradients() -> None:
    net = Net(data=(3, 4), label=(3, 4))
    program = net.finish(net("mul", "data", normal(4)))
    for name in ("label", "images"):
        with pytest.raises(UsageError, match=name) as error:
            trimtab.training(
                program, loss="euclidean", trainable=["constant"], force_backward=[name]
            )
        assert "there are: data" in error.value.hint


def test_no_gradient_goes_through_a_blocked_operator() -> None:
    net = Net(data=(3, 4))
    first, second = normal(4), normal(4)
    h = net("mul", "data", first)
    copy = net("reshape", h, shape=(3, 4))
    net.program.ops[-1].name = "cut"
    program = net.finish(net("add", net("mul", copy, second), h))
    solver = trimtab.Solver(rate=1.0, momentum=0.0)
    names = [var.name for var in program.constants()]
    built = trimtab.training(
        program, loss="euclidean", trainable=names, optimizer=solver, blocked=["cut"]
    )
    trainer = trimtab.Trainer(built)
    data, target = normal(3, 4), normal(3, 4)
    error = (data * first * (second + 1) - target) / 3
    trainer.step({"data": data, "label": target})
    moved = [first - (error * data).sum(0), second - (error * data * first).sum(0)]
    for name, value in zip(names, moved, strict=True):
        np.testing.assert_allclose(trainer.values[name], value, rtol=1e-4, atol=1e-5)


def test_without_it_nothing_is_propagated_to_the_input() -> None:
    first = next(op.inputs[1] for op in small().ops if op.type == "conv")
    counts = {}
    for patterns in ((), ("data",)):
        built = trimtab.training(small(), trainable=[first], force_backward=patterns)
        counts[patterns] = [op.type for op in built.program.ops].count("col2im")
    assert counts["data",] == counts[()] + 1


@pytest.mark.parametrize("type", ["ReLU", "Sigmoid", "TanH", "ELU", "PReLU"])
def test_an_in_place_layer_goes_backward_as_one_with_its_own_top(type: str, tmp_path: Path) -> None:
    x = normal(3, 5)
    values: dict[str, tuple[Any, ...]] = {
        "ip": (normal(4, 5), normal(4)),
        "last": (normal(2, 4), normal(2)),
    }
    if type == "PReLU":
        values["activation"] = (normal(4),)
    results = []
    for top in ("ip", "activated"):
        text = layer("InnerProduct", "data", "ip", "inner_product_param { num_output: 4 }")
        text += layer(type, "ip", top, name="activation")
        text += layer("InnerProduct", top, "last", "inner_product_param { num_output: 2 }")
        network = trimtab.load(write(tmp_path, head({"data": (3, 5)}) + text, values))
        built = trimtab.training(network, loss="sum", force_backward=["data"])
        trainer = trimtab.Trainer(built)
        trainer.step({"data": x})
        results.append(trainer.input_gradients | trainer.parameters)
    for name, result in some(results[0].items()):
        np.testing.assert_array_equal(result, results[1][name], err_msg=name)


def test_only_the_inputs_that_a_pattern_names_have_gradients() -> None:
    net = Net(left=(3, 4), right=(3, 4), label=(3, 4))
    program = net.finish(net("mul", net("mul", "left", normal(4)), "right"))
    for pattern, names in (("left", {"left"}), ("r*", {"right"}), ("*", {"left", "right"})):
        built = trimtab.training(
            program, loss="euclidean", trainable=["constant"], force_backward=[pattern]
        )
        assert built.input_gradients.keys() == names


def test_a_parameter_that_no_rule_computes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("trimtab.gradients.conv.lowered")
    with pytest.raises(ProgramError, match="the parameters of operator conv cannot be trained"):
        trimtab.training(small())


def test_an_optimized_program_trains_as_its_source_and_without_one_is_refused() -> None:
    program = small()
    optimized = trimtab.optimize(program)
    assert optimized.passes
    built = [trimtab.training(one).program for one in (program, optimized)]
    assert [op.type for op in built[0].ops] == [op.type for op in built[1].ops]
    optimized.source = None
    with pytest.raises(ProgramError, match="an optimized program cannot be trained"):
        trimtab.training(optimized)
