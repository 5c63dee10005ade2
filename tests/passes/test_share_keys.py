"""Keys and values that groups of queries share."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import trimtab
from tests.ops.cases.attention import MASKS, grouped
from tests.small_programs import Net, after, types
from trimtab.program import Program


def _net(repeat: str = "expand", groups: tuple[int, int] = (3, 3)) -> Program:
    """Attention of two heads of keys, repeated three times each, as the passes before leave it."""
    net = Net(q=(2, 6, 5, 4), k=(2, 2, 1, 7, 4), v=(2, 2, 1, 7, 3))
    operands = []
    for name, columns, group in (("k", 4, groups[0]), ("v", 3, groups[1])):
        shape, counts = (2, 2, group, 7, columns), (1, 1, group, 1, 1)
        y = net(repeat, name, **({"shape": shape} if repeat == "expand" else {"repeats": counts}))
        operands.append(net("reshape", y, shape=(2, 6, 7, columns)))
    return net.finish(net("attention", "q", *operands, transpose_k=True))


@pytest.mark.parametrize("repeat", ["expand", "tile"])
def test_repeated_keys_and_values_are_read_once(repeat: str) -> None:
    program = after(_net(repeat), "share_keys")
    assert types(program) == ["reshape", "attention", "reshape"]
    assert program.ops[1].inputs[1:] == ["k", "v"]


def test_keys_and_values_of_one_head_broadcast() -> None:
    net = Net(q=(2, 6, 5, 4), k=(2, 1, 7, 4), v=(2, 1, 7, 3))
    k, v = net("expand", "k", shape=(2, 6, 7, 4)), net("expand", "v", shape=(2, 6, 7, 3))
    program = after(net.finish(net("attention", "q", k, v, transpose_k=True)), "share_keys")
    assert types(program) == ["attention"]


def test_repeated_rows_stay() -> None:
    net = Net(q=(2, 6, 5, 4), k=(2, 6, 7, 1, 4), v=(2, 6, 14, 3))
    rows = net("reshape", net("expand", "k", shape=(2, 6, 7, 2, 4)), shape=(2, 6, 14, 4))
    y = net("attention", "q", rows, "v", transpose_k=True)
    assert "expand" in types(after(net.finish(y), "share_keys"))


def test_keys_that_are_repeated_and_values_that_are_not_stay() -> None:
    net = Net(q=(2, 6, 5, 4), k=(2, 2, 1, 7, 4), v=(2, 6, 7, 3))
    k = net("reshape", net("expand", "k", shape=(2, 2, 3, 7, 4)), shape=(2, 6, 7, 4))
    program = after(net.finish(net("attention", "q", k, "v", transpose_k=True)), "share_keys")
    assert "expand" in types(program)


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("mask", MASKS)
def test_the_forms_of_exporters_are_recognized(mask: str, merged: bool, tmp_path: Path) -> None:
    model = grouped(MASKS[mask], merged=merged).model()
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    program = trimtab.optimize(trimtab.load(tmp_path / "net.onnx"))
    assert "attention" in types(program)
    assert not {"expand", "tile", "softmax"} & {*types(program)}
    (attention,) = (op for op in program.ops if op.type == "attention")
    assert math.prod(program.vars[attention.inputs[1]].shape) == 2 * 2 * 18 * 8
