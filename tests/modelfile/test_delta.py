"""Differences of model files, beside an applier that is written after docs/model-format.md."""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.modelfile.test_damaged_weights import damaged
from tests.small_programs import Net
from trimtab import _engine, modelfile
from trimtab.errors import TtmError, UsageError
from trimtab.modelfile import delta
from trimtab.planner.plan_file import Plan
from trimtab.program import Op, Program
from trimtab.target import Target

A53 = Target.of("aarch64", "cortex-a53")
SHARES = {"f32": 1.0, "f16": 0.5, "int8": 0.25, "bits4": 0.14}  # of the bytes of f32


@cache
def four_layers() -> Program:
    net = Net(x=(1, 40, 5, 5))
    y = net.conv("x", 70, 3)
    y = net.conv(y, 90)
    y = net.conv(y, 60)
    return net.finish(net.conv(y, 130))


def network(changed: int | None = None) -> Program:
    """Four layers; the weights of one of them may be other ones."""
    program = four_layers().copy()
    if changed is not None:
        var = program.vars[layers(program)[changed].inputs[1]]
        rng = np.random.default_rng(changed)
        # Other values take another number of bits.
        var.data = (rng.standard_normal(var.shape) ** 3).astype(np.float32)
    return program


def layers(program: Program) -> list[Op]:
    return [op for op in program.ops if op.type == "conv"]


def saved(program: Program, form: str, path: Path) -> Path:
    trimtab.optimize(program, A53, Plan(("direct",), weights_type=form)).save(path)
    return path


def applied(old: bytes, difference: bytes) -> bytes:
    """The new file, by the format's page."""
    size = struct.unpack_from("<8sQQQQQ", difference)[5]
    new, at = b"", 64
    while len(new) < size:
        literal, copied, first = struct.unpack_from("<III", difference, at)
        at += 12 + 64 * literal
        new += difference[at - 64 * literal : at] + old[64 * first : 64 * (first + copied)]
    return new


@pytest.mark.parametrize("form", SHARES)
@pytest.mark.parametrize("changed", range(4))
def test_a_changed_layer_is_sent_as_that_layer(changed: int, form: str, tmp_path: Path) -> None:
    old = saved(network(), form, tmp_path / "old.ttm")
    new = saved(network(changed), form, tmp_path / "new.ttm")
    size = delta.write(old, new, tmp_path / "delta")
    assert applied(old.read_bytes(), (tmp_path / "delta").read_bytes()) == new.read_bytes()
    weights = network().vars[layers(network())[changed].inputs[1]].bytes * SHARES[form]
    tables = new.stat().st_size - sum(var.bytes for var in modelfile.read(new).constants())
    assert 0.4 * weights < size < weights + tables + 1024
    assert size < 0.9 * new.stat().st_size


def test_unlike_networks_are_a_difference_too(tmp_path: Path) -> None:
    old = saved(network(), "bits4", tmp_path / "old.ttm")
    net = Net(x=(1, 8, 3, 3))
    new = saved(net.finish(net.conv("x", 29)), "f32", tmp_path / "new.ttm")
    assert new.stat().st_size < delta.write(old, new, tmp_path / "delta")
    assert delta.write(new, old, tmp_path / "back") < old.stat().st_size + 256


def test_damage_of_any_byte_is_an_error(tmp_path: Path) -> None:
    old, new = (
        np.fromfile(saved(network(changed), "bits4", tmp_path / "net.ttm"), np.uint8)
        for changed in (None, 3)
    )
    whole = np.frombuffer(delta.difference(old, new), np.uint8)
    np.testing.assert_array_equal(_engine.apply_delta(old, whole), new)
    for at in range(whole.size):
        with pytest.raises(ValueError, match="damaged"):
            _engine.apply_delta(old, damaged(whole, at))
    for size in (0, 63, 64, whole.size - 64, whole.size - 1):
        with pytest.raises(ValueError, match="damaged"):
            _engine.apply_delta(old, whole[:size])
    copied = [
        at
        for at in range(128, old.size, 64)
        if (new.reshape(-1, 64) == old[at : at + 64]).all(1).any()
    ]
    with pytest.raises(ValueError, match="damaged"):
        _engine.apply_delta(damaged(old, copied[-1]), whole)
    with pytest.raises(ValueError, match="another one"):
        _engine.apply_delta(new, whole)
    with pytest.raises(ValueError, match="another one"):
        _engine.apply_delta(old[:-64], whole)


def test_steps_beyond_their_files_are_refused(tmp_path: Path) -> None:
    old, new = (
        np.fromfile(saved(network(changed), "f32", tmp_path / "net.ttm"), np.uint8)
        for changed in (None, 1)
    )
    whole = delta.difference(old, new)
    most = 2**32 - 1
    for step in (
        (most, 0, 0),
        (0, most, 0),
        (0, 1, most),
        (0, 0, most),
        (2, most - 1, 0),
        (0, 0, 0),
    ):
        wrong = bytearray(whole)
        struct.pack_into("<III", wrong, 64, *step)
        struct.pack_into("<Q", wrong, 8, 0)
        checksum = _engine.Checksum()
        checksum.add(np.frombuffer(wrong, np.uint8))
        struct.pack_into("<Q", wrong, 8, checksum.digest())
        with pytest.raises(ValueError, match="damaged"):
            _engine.apply_delta(old, np.frombuffer(wrong, np.uint8))


def test_what_has_no_difference_is_refused(tmp_path: Path) -> None:
    old = saved(network(), "f32", tmp_path / "old.ttm")
    with pytest.raises(UsageError, match="the same"):
        delta.write(old, old, tmp_path / "delta")
    (tmp_path / "text").write_text("no model")
    with pytest.raises(TtmError):
        delta.write(old, tmp_path / "text", tmp_path / "delta")
