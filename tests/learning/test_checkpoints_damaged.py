"""Damaged checkpoints: a training continues and saves, or an error of trimtab says why not."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import trimtab
from tests.importers import damage
from tests.learning.networks import small
from trimtab.learning import checkpoint
from trimtab.learning.trainer import Trainer

NAME, SAVED = "net.checkpoint", "saved.checkpoint"
POLICIES = ("fixed", "step", "exp", "inv")


@cache
def _trainer(policy: str) -> Trainer:
    solver = trimtab.Solver("adam", policy=policy, gamma=0.5, iter_size=2)
    return Trainer(trimtab.training(small(), optimizer=solver))


def _continue(folder: Path, policy: str) -> int:
    """The steps of a training after one more, as a checkpoint has them."""
    trainer = _trainer(policy)
    trainer.restore(folder / NAME)
    data = np.ones((2, 3, 6, 6), np.float32)
    trainer.step({"data": data, "label": np.array([1, 2])})
    trainer.save(folder / SAVED)
    before = trainer.steps
    trainer.restore(folder / SAVED)
    assert trainer.steps == before
    return before


def _sealed(content: bytes) -> bytes:
    """The bytes with the checksum that belongs to them."""
    blank = bytearray(content)
    blank[8:16] = bytes(8)
    blank[8:16] = checkpoint.checksum_of(blank)
    return bytes(blank)


def _write(folder: Path, steps: int) -> None:
    training = _trainer("fixed").training
    checkpoint.write(folder / NAME, training.in_order(training.initial), steps)


def test_the_checkpoint_to_damage_is_one(tmp_path: Path) -> None:
    _write(tmp_path, 6)
    assert _continue(tmp_path, "fixed") == 7
    (tmp_path / NAME).write_bytes(_sealed((tmp_path / SAVED).read_bytes()))
    assert _continue(tmp_path, "fixed") == 8


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_checkpoint_continues_or_raises_an_error_of_ours(
    data: st.DataObject, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    damage.empty(tmp_path)
    _write(tmp_path, data.draw(st.sampled_from([0, 5, 2**31 - 1])))
    head = 192  # the header and the sizes of the values
    content = (tmp_path / NAME).read_bytes()
    if data.draw(st.booleans()):
        content = damage.of_words(data, content[:head]) + content[head:]
        (tmp_path / NAME).write_bytes(content)
    else:
        damage.one_of(data, tmp_path, {NAME: damage.of_words})
    if data.draw(st.integers(0, 3)) and len(content := (tmp_path / NAME).read_bytes()) >= 16:
        (tmp_path / NAME).write_bytes(_sealed(content))
    policy = data.draw(st.sampled_from(POLICIES))
    with damage.handled(tmp_path, pytestconfig, "checkpoint"):
        _continue(tmp_path, policy)


def test_checkpoints_that_once_broke_a_training_are_handled(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    for folder in damage.findings("checkpoints", tmp_path):
        for policy in POLICIES:
            with damage.handled(folder, pytestconfig, "checkpoint"):
                _continue(folder, policy)
