"""Concat elision: variables inside the pixels of others, and resized inputs."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.engine.raw_runs import run_arrays
from tests.ops import oracle
from tests.ops.cases.case import Case, Const, Graph, normal
from tests.small_programs import Net, types
from trimtab import _engine, modelfile
from trimtab.modelfile import records
from trimtab.program import Program
from trimtab.program.memory import activation_bytes
from trimtab.target import Target

PORTABLE = Target.of("riscv64")


def planned(program: Program) -> Program:
    return trimtab.optimize(program, PORTABLE)


def joins(program: Program) -> list[tuple[int, ...]]:
    """Channels of the inputs of every concatenation that is left."""
    return [
        tuple(program.vars[name].shape[1] for name in op.inputs)
        for op in program.ops
        if op.type == "concat"
    ]


def places(program: Program) -> list[tuple[int, int]]:
    """(channels, first channel) of every part, in the order they are written."""
    written = [program.vars[name] for op in program.ops for name in op.outputs]
    return [(var.shape[1], var.channel) for var in written if var.parent]


def test_a_concatenation_of_convolutions_is_elided_from_plan_and_profile() -> None:
    net = Net(x=(1, 3, 6, 5))
    y = net("concat", net.conv("x", 4), net.conv("x", 6, 3), axis=1)
    program = planned(net.finish(net.conv(y, 2)))
    assert joins(program) == []
    assert places(program) == [(4, 0), (6, 4)]
    assert "concat" not in trimtab.profile_of(program).ops


def test_only_operands_that_cannot_be_written_in_place_are_copied() -> None:
    net = Net(x=(1, 3, 6, 5))
    twice, normed = net.conv("x", 4), net("lrn", net.conv("x", 6), size=3)
    y = net("concat", net.conv("x", 3), twice, twice, normed, axis=1)
    program = planned(net.finish(net.conv(y, 2)))
    assert joins(program) == [(4, 4, 6)]
    assert places(program) == [(3, 0), (14, 3)]


def test_a_concatenation_of_operators_without_strided_pixels_is_not_elided() -> None:
    net = Net(x=(1, 3, 6, 5))
    sides = [net("lrn", net.conv("x", 4), size=size) for size in (3, 5)]
    program = planned(net.finish(net.conv(net("concat", *sides, axis=1), 2)))
    assert joins(program) == [(4, 4)]
    assert places(program) == []


def test_a_tensor_that_is_concatenated_twice_lies_in_the_last_result() -> None:
    net = Net(x=(1, 3, 6, 5))
    inner = net("concat", net.conv("x", 4), net.conv("x", 5), axis=1)
    outer = net("concat", net.conv("x", 3), inner, axis=1)
    program = planned(net.finish(net.conv(outer, 2), net.conv(inner, 2)))
    assert joins(program) == []
    assert places(program) == [(4, 3), (5, 7), (3, 0)]


def test_a_split_that_convolutions_read_is_elided() -> None:
    net = Net(x=(1, 3, 6, 5))
    left, right = net.many("split", 2, net.conv("x", 10), axis=1, sizes=[4, 6])
    program = planned(net.finish(net.conv(left, 2), net.conv(right, 2, 3)))
    assert "split" not in types(program)
    assert (program.vars[left].channel, program.vars[right].channel) == (0, 4)


def test_a_split_whose_results_are_all_concatenated_leaves_no_copy() -> None:
    net = Net(x=(1, 3, 6, 5))
    left, right = net.many("split", 2, net.conv("x", 8), axis=1, sizes=[4, 4])
    y = net("concat", left, right, net.conv(right, 4, 3), axis=1)
    program = planned(net.finish(net.conv(y, 2)))
    assert {"split", "concat"}.isdisjoint(types(program))
    assert places(program) == [(8, 0), (4, 8)]


def test_elision_never_increases_memory() -> None:
    net = Net(x=(1, 3, 16, 16))
    early = net.conv("x", 2)
    wide = net.conv(net.conv(early, 64), 64)
    late = net.conv(wide, 60)
    program = planned(net.finish(net.conv(net("concat", early, late, axis=1), 2)))
    assert joins(program) == [(2,)]  # of the small one only; the large one is in its place
    assert activation_bytes(program) == 16 * 16 * (64 + 64 + 2) * 4


def test_a_saved_plan_keeps_its_sub_tensors(tmp_path: Path) -> None:
    net = Net(x=(1, 3, 6, 5))
    y = net("concat", net.conv("x", 4), net.conv("x", 6, 3), axis=1)
    program = planned(net.finish(net.conv(y, 2)))
    program.save(tmp_path / "net.ttm")
    assert places(trimtab.load(tmp_path / "net.ttm")) == places(program)


def sized(h: int, w: int) -> Case:
    g = Graph()
    x = g.value(normal(1, 6, h, w))
    sides = [g.node("Conv", x, Const(normal(n, 6, 1, 1))) for n in (5, 7, 4)]
    sides.append(g.node("MaxPool", sides[1], kernel_shape=[3, 3], pads=[1, 1, 1, 1]))
    both = g.node("Concat", *sides, axis=1)
    half = g.node("Split", both, Const(np.array([10, 13])), outputs=2, axis=1)
    return g.case(
        "sized",
        *(g.node("Conv", v, Const(normal(3, c, 3, 3))) for v, c in ((half, 10), (f"{half}.1", 13))),
    )


def executor(tmp_path: Path) -> _engine.Executor:
    path = tmp_path / "case.onnx"
    path.write_bytes(sized(8, 9).model.SerializeToString())
    program = trimtab.optimize(trimtab.load(path))
    assert places(program)
    return _engine.Executor(modelfile.encode(program))


@pytest.mark.parametrize(("h", "w"), [(8, 9), (11, 6), (3, 3), (30, 31)])
def test_sub_tensors_follow_a_resized_input(tmp_path: Path, h: int, w: int) -> None:
    case, engine = sized(h, w), executor(tmp_path)
    engine.resize_input(0, (1, 6, h, w))
    expected = oracle.expected(case)
    actual = dict(zip(expected, run_arrays(engine, list(case.inputs.values())), strict=True))
    oracle.assert_agree(case, actual, expected)


def test_sub_tensors_of_different_sizes_are_refused() -> None:
    net = Net(x=(1, 4, 6, 5), y=(1, 4, 6, 5))
    both = net("concat", net.conv("x", 4), net.conv("y", 6, 3), axis=1)
    engine = _engine.Executor(modelfile.encode(planned(net.finish(net.conv(both, 2)))))
    with pytest.raises(_engine.EngineError, match="sub-tensors differ in size"):
        engine.resize_input(0, (1, 4, 7, 5))


# Bytes of a variable's record in the file: its shape's channels and height, its parent, channel.
@pytest.mark.parametrize(
    ("at", "value"), [(4, 0), (4, 11), (8, 7), (56, 99), (56, "itself"), (60, 7), (60, 0xFFFFFFFF)]
)
def test_a_sub_tensor_that_does_not_fit_its_parent_is_refused(at: int, value: int | str) -> None:
    net = Net(x=(1, 3, 6, 5))
    y = net("concat", net.conv("x", 4), net.conv("x", 6, 3), axis=1)
    program = planned(net.finish(net.conv(y, 2)))
    image = modelfile.encode(program)
    starts = range(records.TABLES_AT, image.size, records.VAR.size)
    index, start = next(
        (i, start) for i, start in enumerate(starts) if image[start + 55] & records.VAR_FLAG_PART
    )
    place = start + at
    number = index if isinstance(value, str) else value
    image[place : place + 4] = np.frombuffer(struct.pack("<I", number), np.uint8)
    modelfile.seal(image)
    with pytest.raises(_engine.EngineError, match="a sub-tensor is outside its parent"):
        _engine.check_model(image)


def test_two_operators_cannot_write_the_same_channels() -> None:
    net = Net(x=(1, 3, 6, 5))
    y = net("concat", net.conv("x", 4), net.conv("x", 4, 3), axis=1)
    program = planned(net.finish(net.conv(y, 2)))
    for var in program.vars.values():
        var.channel = 0
    with pytest.raises(_engine.EngineError, match="a variable is written twice"):
        _engine.Executor(modelfile.encode(program))


def test_channels_without_a_producer_cannot_be_read() -> None:
    net = Net(x=(1, 3, 6, 5))
    y = net("concat", net.conv("x", 4), net.conv("x", 4, 3), axis=1)
    program = planned(net.finish(net.conv(y, 2)))
    writers = [op for op in program.ops if program.vars[op.outputs[0]].parent]
    program.ops.remove(writers[1])
    with pytest.raises(_engine.EngineError, match="before it is written"):
        _engine.Executor(modelfile.encode(program))


def test_operators_on_contiguous_pixels_do_not_take_sub_tensors() -> None:
    net = Net(x=(1, 3, 6, 5))
    left, _ = net.many("split", 2, net.conv("x", 10), axis=1, sizes=[4, 6])
    program = planned(net.finish(net.conv(net("lrn", left, size=3), 2)))
    part = program.vars[left]
    whole = next(op.outputs[0] for op in program.ops if op.type == "conv")
    assert not part.parent
    program.ops[:] = [op for op in program.ops if op.type != "split"]
    part.parent = whole
    with pytest.raises(_engine.EngineError, match="cannot be a sub-tensor"):
        _engine.Executor(modelfile.encode(program))


def test_pixels_that_conflict_in_the_cache_are_padded() -> None:
    net = Net(x=(2, 8, 3, 4))
    program = net.finish(net.conv(net.conv(net.conv("x", 512), 512, 3), 24))
    planned_program = planned(program)
    assert places(planned_program) == [(512, 0), (512, 0)]
    written = [planned_program.vars[name] for op in planned_program.ops for name in op.outputs]
    parents = [planned_program.vars[var.parent].shape for var in written if var.parent]
    assert parents == [(2, 528, 3, 4)] * 2
    x = {"x": normal(2, 8, 3, 4)}
    (want,), (actual,) = (
        trimtab.Session(twin).run(x).values()
        for twin in (planned_program, trimtab.optimize(program))
    )
    np.testing.assert_allclose(actual, want, rtol=1e-4, atol=1e-4 * float(np.abs(want).max()))


def test_pixels_without_conflicts_are_not_padded() -> None:
    one_pixel = Net(x=(1, 8, 1, 1))
    other_size = Net(x=(1, 8, 3, 4))
    dense_reader = Net(x=(1, 8, 3, 4))
    for program in (
        one_pixel.finish(one_pixel.conv(one_pixel.conv("x", 512), 8)),
        other_size.finish(other_size.conv(other_size.conv("x", 520), 24)),
        dense_reader.finish(dense_reader("softmax", dense_reader.conv("x", 512), axis=1)),
    ):
        assert places(planned(program)) == []
