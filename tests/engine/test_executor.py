"""Operations on an open model: sizes, inputs and threads."""

from __future__ import annotations

import gc
import re
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.engine.raw_runs import run_arrays
from trimtab import _engine, modelfile
from trimtab.errors import BudgetError
from trimtab.planner.plan_file import Plan
from trimtab.program import Program

COPIES = 4


def repeated(*shape: int) -> Program:
    """x -> x four times, one after the other, and the square of that."""
    program = Program("repeated")
    program.add_input("x", shape)
    (y,) = program.block.add_op("concat", ["x"] * COPIES, {"axis": 0})
    (z,) = program.block.add_op("mul", [y, y])
    program.outputs = [z]
    return program


def executor(*shape: int) -> _engine.Executor:
    return _engine.Executor(modelfile.encode(trimtab.optimize(repeated(*shape))))


def image(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape, dtype=np.float32)


def squares(x: np.ndarray) -> np.ndarray:
    return np.concatenate([x] * COPIES) ** 2


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((1, 1, 8192, 8192), "too large"),  # x has 2^26 elements, y would have 2^28
        ((1, 1, 46341, 46341), "bad dimensions"),
        ((1, -1, 5, 7), "bad dimensions"),
        ((3, 5, 7), "bad dimensions"),
    ],
)
def test_a_failed_resize_leaves_the_model_unchanged(shape: tuple[int, ...], message: str) -> None:
    engine, x = executor(1, 3, 5, 7), image(1, 3, 5, 7)
    (before,) = run_arrays(engine, [x])
    memory = engine.memory()
    with pytest.raises(_engine.EngineError, match=message):
        engine.resize_input(0, shape)
    assert engine.memory() == memory
    assert [arguments for arguments, _ in engine.inputs()] == [x.shape]
    (after,) = run_arrays(engine, [x])
    np.testing.assert_array_equal(after, before)
    np.testing.assert_allclose(after, squares(x), rtol=1e-6)


def test_a_model_can_be_resized_after_a_failed_resize() -> None:
    engine = executor(1, 3, 5, 7)
    with pytest.raises(_engine.EngineError):
        engine.resize_input(0, (1, 1, 8192, 8192))
    engine.resize_input(0, (2, 3, 9, 4))
    x = image(2, 3, 9, 4)
    np.testing.assert_allclose(run_arrays(engine, [x])[0], squares(x), rtol=1e-6)


def test_images_without_channels_are_resized_without_work_or_memory() -> None:
    program = Program("empty")
    program.add_input("x", (1, 3, 4, 4))
    empty = program.block.add_op("slice", ["x"], {"starts": (0,), "ends": (0,), "axes": (1,)})
    program.outputs = program.block.add_op("resize", empty, {"sizes": (2**26, 1)})
    session = trimtab.Session(program)
    assert session.memory["arena_bytes"] < 4096
    (y,) = session.run({"x": image(1, 3, 4, 4)}).values()
    assert y.shape == (1, 0, 2**26, 1)


def test_scratch_memory_may_grow_where_all_tensors_fit_their_places() -> None:
    """A softmax over columns keeps a column of each thread: a long one needs a plan of its own,
    although the tensors have as many elements. Beyond the scratch lie other tensors.
    """
    program = Program("columns")
    program.add_input("x", (1, 4, 512))
    (x,) = program.block.add_op("relu", ["x"])
    (y,) = program.block.add_op("softmax", [x], {"axis": 1})
    (z,) = program.block.add_op("mul", [x, y])
    program.outputs = program.block.add_op("softmax", [z], {"axis": 1})
    engine = _engine.Executor(modelfile.encode(trimtab.optimize(program)))
    for shape in ((1, 4, 512), (1, 512, 4), (1, 64, 32), (1, 2, 600), (1, 4, 512)):
        engine.resize_input(0, shape)
        picture = image(*shape)
        value = np.maximum(picture, 0)
        for factor in (value, 1):
            powers = np.exp(value - value.max(1, keepdims=True))
            value = powers / powers.sum(1, keepdims=True) * factor
        np.testing.assert_allclose(run_arrays(engine, [picture])[0], value, atol=1e-6)


def test_a_resized_input_must_be_set_again() -> None:
    engine = executor(1, 3, 5, 7)
    run_arrays(engine, [image(1, 3, 5, 7)])
    engine.resize_input(0, (1, 3, 50, 70))
    with pytest.raises(_engine.EngineError, match="an input is not set"):
        engine.time_operators()  # which runs with the inputs of before


def test_the_inputs_of_a_run_live_as_long_as_they_may_be_read() -> None:
    session, x = trimtab.Session(repeated(1, 3, 5, 7)), image(1, 3, 5, 7)
    alive = weakref.ref(x)
    session.run({"x": x})
    del x
    gc.collect()
    assert alive() is not None
    assert len(session.time_operators()) == len(session.program.ops)


def test_threads_may_share_a_session() -> None:
    session = trimtab.Session(repeated(1, 8, 40, 40))
    images = [image(1, 8, 40, 40) + n for n in range(8)]

    def runs(x: np.ndarray) -> bool:
        return all(
            np.allclose(session.run({"x": x})[session.output_names[0]], squares(x))
            for _ in range(20)
        )

    with ThreadPoolExecutor(len(images)) as pool:
        assert all(pool.map(runs, images))


def resident_bytes() -> int:
    """Resident memory of this process, without pages of files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


@pytest.mark.skipif(
    re.search(r"libasan|clang_rt\.asan", Path("/proc/self/maps").read_text()) is not None,
    reason="its heap touches what it gives",
)
def test_a_model_that_does_not_run_allocates_no_activations() -> None:
    planned = modelfile.encode(trimtab.optimize(repeated(1, 1, 1024, 4096)))
    before = resident_bytes()
    engine = _engine.Executor(planned)
    opened = resident_bytes() - before
    arena = engine.memory()["arena_bytes"]
    assert arena >= 64 << 20
    assert opened < 2 << 20
    run_arrays(engine, [np.zeros((1, 1, 1024, 4096), np.float32)])
    assert resident_bytes() - before >= arena


def test_a_session_respects_its_memory_limit() -> None:
    program = repeated(1, 3, 5, 7)
    needed = trimtab.Session(program).memory["arena_bytes"]
    trimtab.Session(program, max_memory_bytes=needed)
    with pytest.raises(BudgetError, match="more memory than allowed"):
        trimtab.Session(program, max_memory_bytes=needed - 1)


def test_a_resize_respects_the_memory_limit() -> None:
    planned = modelfile.encode(trimtab.optimize(repeated(1, 3, 5, 7)))
    needed = _engine.Executor(planned).memory()["arena_bytes"]
    engine, x = _engine.Executor(planned, max_memory_bytes=needed), image(1, 3, 5, 7)
    with pytest.raises(_engine.EngineError, match="more memory than allowed") as refused:
        engine.resize_input(0, (1, 3, 50, 70))
    assert refused.value.args[0] == 9  # TRIMTAB_MEMORY_LIMIT
    np.testing.assert_allclose(run_arrays(engine, [x])[0], squares(x), rtol=1e-6)


def test_a_resize_does_not_change_packed_weights() -> None:
    program = Program("net")
    program.add_input("x", (1, 16, 12, 12))
    w = np.random.default_rng(2).standard_normal((19, 16, 3, 3), np.float32)
    constant = program.block.add_constant(w, "w")
    program.outputs = program.block.add_op("conv", ["x", constant], {}, name="op")
    overrides = Plan(("winograd_4",))
    image = modelfile.encode(trimtab.optimize(program, plan=overrides))
    executor = _engine.Executor(image, 1)
    before = executor.memory()["prepared_bytes"]
    assert before > 0
    for size in (20, 12):
        x = np.random.default_rng(size).standard_normal((1, 16, size, size), np.float32)
        executor.resize_input(0, [1, 16, size, size])
        (result,) = run_arrays(executor, [x])
        windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
        expected = np.einsum("nchwij,ocij->nohw", windows.astype(np.float64), w)
        np.testing.assert_allclose(result, expected, atol=1e-4 * np.abs(expected).max())
    assert executor.memory()["prepared_bytes"] == before
