"""Loops that threads share: every index is computed, at any size and by any number of threads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import trimtab
from trimtab.program import Program

Array = np.ndarray[Any, Any]

_LOAD_AT_ONCE = """
import sys
import threading
from trimtab.engine import engine

def load():
    start.wait()
    loaded.append(hasattr(engine(), "infer_shapes") and engine())

sys.setswitchinterval(1e-6)
start, loaded = threading.Barrier(8), []
threads = [threading.Thread(target=load) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(loaded) == 8 and loaded[0] and {*map(id, loaded)} == {id(loaded[0])}, loaded
"""

# Loops over elements, over rows, over pixels and over tiles of a product, and their results.
OPERATORS: dict[str, tuple[dict[str, object], Callable[[Array], Array]]] = {
    "neg": ({}, np.negative),
    "transpose": ({"permutation": (0, 2, 3, 1)}, lambda x: x.transpose(0, 2, 3, 1)),
    "pad": (
        {"pads": (0, 0, 1, 0, 0, 0, 0, 2), "value": 7.0},
        lambda x: np.pad(x, ((0, 0), (0, 0), (1, 0), (0, 2)), constant_values=7),
    ),
    "reduce_max": ({"axes": (3,), "keep_dims": False}, lambda x: x.max(3)),
    "softmax": ({"axis": 3}, lambda x: np.exp(x) / np.exp(x).sum(3, keepdims=True)),
}


@pytest.mark.parametrize("threads", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("type", OPERATORS)
def test_a_loop_reaches_its_end_with_any_number_of_threads(type: str, threads: int) -> None:
    attributes, reference = OPERATORS[type]
    for shape in ((1, 3, 7, 2), (2, 5, 64, 33), (1, 16, 61, 59), (3, 31, 97, 5), (1, 1, 1023, 40)):
        program = Program("loop")
        program.add_input("x", shape)
        program.outputs = program.block.add_op(type, ["x"], attributes)
        session = trimtab.Session(program, threads)
        session.run({"x": np.zeros(shape, np.float32)})  # what a loop leaves out is seen then
        x = np.random.default_rng(len(type)).uniform(1, 2, shape).astype(np.float32)
        (y,) = session.run({"x": x}).values()
        np.testing.assert_allclose(y, reference(x), rtol=1e-5)


def test_threads_that_begin_at_the_same_time_load_one_engine() -> None:
    argv = [sys.executable, "-P", "-c", _LOAD_AT_ONCE]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
