"""Networks that no engine could hold are refused before anything is built or written."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from trimtab.errors import BudgetError
from trimtab.pipeline.built import build
from trimtab.pipeline.loaded import load
from trimtab.pipeline.planned import check_memory, plan
from trimtab.pipeline.recipe import Recipe
from trimtab.program import Program
from trimtab.target import Target

LARGEST = (1, 2, 1 << 13, 1 << 13)
"""The shape of a float32 tensor of 512 MiB."""


def outputs(count: int, shape: tuple[int, ...] = LARGEST) -> Program:
    """A network with `count` outputs of one input, all alive at the end."""
    program = Program("outputs")
    program.add_input("x", shape)
    for n in range(count):
        offset = program.block.add_constant(np.full((1,), n, np.float32), "offset")
        program.outputs += program.block.add_op("add", ["x", offset])
    return program


def test_a_build_whose_activations_exceed_2_gib_is_refused_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    outputs(5).save(tmp_path / "net.ttm")
    recipe = Recipe(str(tmp_path / "net.ttm"), output=tmp_path / "out")
    with pytest.raises(BudgetError, match=f"needs {5 << 29:,} bytes"):
        build(plan(load(recipe)))
    assert [path.name for path in tmp_path.iterdir()] == ["net.ttm"]


def test_weights_beyond_2_gib_are_for_64_bit_machines_only() -> None:
    program = outputs(1, (1, 2, 4, 4))
    check_memory(program, Target.of("armv7"))
    # Views of one number: they have the size of weights, and take no memory.
    for _ in range(5):
        weights = np.broadcast_to(np.float32(0), (1 << 13, 1 << 14))
        constant = program.block.add_constant(np.zeros((1, 1), np.float32), "w")
        program.vars[constant].data = weights
    check_memory(program, Target.of("aarch64"))
    with pytest.raises(BudgetError, match="32-bit"):
        check_memory(program, Target.of("armv7"))


def test_all_that_a_machine_can_address_is_allowed_and_a_byte_more_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program, target = outputs(2, (1, 2, 4, 4)), Target.of("aarch64")

    def check(address_bytes: int) -> None:
        monkeypatch.setattr(Target, "address_bytes", property(lambda _: address_bytes))
        check_memory(program, target)

    with pytest.raises(BudgetError) as caught:
        check(0)
    numbers = re.findall(r"[\d,]+(?= bytes|$)", caught.value.what)
    needed = sum(int(number.replace(",", "")) for number in numbers)
    assert needed >= 2 * 128 + 2 * 4  # two results, two constants
    check(needed)
    with pytest.raises(BudgetError):
        check(needed - 1)
