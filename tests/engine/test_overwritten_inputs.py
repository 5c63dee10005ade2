"""Outputs in the memory of inputs: what no operator reads any more is overwritten, other inputs are
not, and no value changes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import trimtab
from tests.engine.raw_runs import run_arrays
from tests.small_programs import Array, Net, normal
from trimtab import _engine, modelfile
from trimtab.engine import EngineError
from trimtab.errors import UsageError
from trimtab.program import Program

SHAPE = (3, 5, 7)
BYTES = 4 * 3 * 5 * 7


def network() -> Net:
    """A net with a batch and the values x and z."""
    return Net(batch=SHAPE, z=SHAPE, x=SHAPE)


def last_reader(net: Net) -> Program:
    e = net("exp", "x")
    return net.finish(net("tanh", "z"), net("sub", "x", net("mul", e, "batch")))


def no_reader_when_written(net: Net) -> Program:
    e = net("exp", net("mul", "x", "batch"))
    return net.finish(net("tanh", "z"), net("softmax", e, axis=1))


def read_later(net: Net) -> Program:
    y = net("add", "x", "batch")
    return net.finish(net("mul", "x", "z"), y)


def through_a_view(net: Net) -> Program:
    view = net("reshape", "x", shape=(3, 35))
    y = net("sub", "x", "batch")
    z = net("reshape", net("exp", view), shape=SHAPE)
    return net.finish(net("mul", "z", z), y)


def not_at_its_place(net: Net) -> Program:
    turned = net("transpose", "x", permutation=(0, 2, 1))
    return net.finish(net("add", "z", "batch"), net("transpose", turned, permutation=(0, 2, 1)))


def exchanged(net: Net) -> Program:
    return net.finish("x", "z")


CASES: dict[Callable[[Net], Program], tuple[bool, bool]] = {
    last_reader: (True, True),
    no_reader_when_written: (True, True),
    read_later: (True, False),
    through_a_view: (True, False),
    not_at_its_place: (True, False),
    exchanged: (False, False),
}
"""Which of z and x their outputs may overwrite."""


@pytest.mark.parametrize("build", CASES, ids=lambda build: str(build.__name__))
def test_outputs_overwrite_inputs_that_nobody_reads_later(build: Callable[[Net], Program]) -> None:
    program = build(network())
    arrays = {name: normal(*SHAPE) for name in ("batch", "z", "x")}
    plain = trimtab.Session(program, cache=False)
    expected = list(plain.run({name: value.copy() for name, value in arrays.items()}).values())
    session = trimtab.Session(program, threads=3, cache=False)
    session.overwrite_inputs(2)
    for _ in range(2):
        values: dict[str, Array] = {name: value.copy() for name, value in arrays.items()}
        outputs = list(session.run(values).values())
        for output, want in zip(outputs, expected, strict=True):
            np.testing.assert_array_equal(output, want)
        assert np.array_equal(values["batch"], arrays["batch"])
        for name, output, may in zip(("z", "x"), expected[-2:], CASES[build], strict=True):
            value_after = output if may else arrays[name]
            np.testing.assert_array_equal(values[name], value_after, err_msg=name)
    assert session.memory["arena_bytes"] <= plain.memory["arena_bytes"]


def test_an_array_that_a_run_overwrites_must_be_writable() -> None:
    session = trimtab.Session(last_reader(network()), cache=False)
    session.overwrite_inputs(1)
    values = {name: normal(*SHAPE) for name in ("batch", "z", "x")}
    session.run(values)
    values["x"].flags.writeable = False
    with pytest.raises(EngineError, match="not writable"):
        session.run(values)
    values["z"].flags.writeable = False
    values["x"] = normal(*SHAPE)
    session.run(values)
    with pytest.raises(UsageError, match="count must be at most 3, not 4"):
        session.overwrite_inputs(4)


def test_a_result_that_outgrew_its_input_has_memory_of_its_own() -> None:
    net = Net(batch=(1, 4), x=(1, 4))
    program = trimtab.optimize(net.finish(net("add", "x", "batch")))
    engine = _engine.Executor(modelfile.encode(program))
    engine.overwrite_inputs(1)
    memory = normal(33, 4)
    x, beyond = memory[:1], memory[1:].copy()
    for count in (1, 32, 1):
        engine.resize_input(0, (count, 4))
        batch, before = normal(count, 4), x.copy()
        (output,) = run_arrays(engine, [batch, x])
        np.testing.assert_array_equal(output, before + batch)
        np.testing.assert_array_equal(memory[1:], beyond)


@pytest.mark.parametrize("is_update", [0.0, 1.0])
def test_a_step_of_adam_overwrites_parameter_and_states(is_update: float) -> None:
    net = Net(gradient=SHAPE, rate=(1,), is_update=(1,), mean=SHAPE, square=SHAPE, value=SHAPE)
    inputs = ["value", "gradient", "rate", "", "is_update", "mean", "square"]
    value, mean, square = net.program.block.add_op("adam_update", inputs, {"decay": 0.5}, 3)
    session = trimtab.Session(net.finish(mean, square, value), threads=2, cache=False)
    session.overwrite_inputs(3)
    assert session.memory["arena_bytes"] == 0
    arrays = {name: normal(*SHAPE) for name in ("gradient", "mean", "square", "value")}
    arrays["square"] = arrays["square"] ** 2
    old = {name: array.astype(np.float64) for name, array in arrays.items()}
    session.run(arrays | {"rate": np.array([0.25]), "is_update": np.array([is_update])}, cast=True)
    if not is_update:
        assert all(np.array_equal(arrays[name], old[name]) for name in arrays)
        return
    gradient = old["gradient"] + 0.5 * old["value"]
    new_mean, new_square = 0.9 * old["mean"] + 0.1 * gradient, 0.999 * old["square"]
    new_square += 0.001 * gradient**2
    new_value = old["value"] - 0.25 * new_mean / (np.sqrt(new_square) + 1e-8)
    for name, new in (("mean", new_mean), ("square", new_square), ("value", new_value)):
        np.testing.assert_allclose(arrays[name], new, rtol=1e-5, atol=1e-6)
    assert np.array_equal(arrays["gradient"], old["gradient"].astype(np.float32))
