"""The trainer: checkpoints and dropout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.learning.networks import small
from tests.small_programs import Net, normal
from trimtab.errors import ModelFileError, UsageError
from trimtab.learning import checkpoint
from trimtab.learning.training_program import TrainingProgram

DATA, LABELS = normal(2, 3, 6, 6), np.array([1, 3], np.int32)


def with_dropout() -> TrainingProgram:
    """The training of a small network with dropout behind its first rectifier."""
    program = small()
    relu = next(op.name for op in program.ops if op.type == "relu")
    return trimtab.training(program, optimizer="adam", dropout={relu: 0.5})


def steps(trainer: trimtab.Trainer, count: int) -> list[float]:
    """The losses of some steps on the same batch."""
    return [trainer.step({"data": DATA, "label": LABELS}) for _ in range(count)]


def test_a_training_continues_bit_for_bit_from_its_checkpoint(tmp_path: Path) -> None:
    training = with_dropout()
    whole = trimtab.Trainer(training, seed=3)
    losses = steps(whole, 6)
    first = trimtab.Trainer(training, seed=3)
    assert steps(first, 2) == losses[:2]
    first.save(tmp_path / "state.checkpoint")
    second = trimtab.Trainer(training, seed=3)
    second.restore(tmp_path / "state.checkpoint")
    assert steps(second, 4) == losses[2:]
    assert second.iteration == whole.iteration == 6
    for name, value in whole.values.items():
        assert np.array_equal(second.values[name], value)


def test_a_damaged_or_foreign_checkpoint_is_refused(tmp_path: Path) -> None:
    trainer = trimtab.Trainer(with_dropout())
    path = tmp_path / "state.checkpoint"
    trainer.save(path)
    data = bytearray(path.read_bytes())
    before = dict(trainer.values)
    for place in (0, len(data) // 3, len(data) // 2, len(data) - 1):
        damaged = bytearray(data)
        damaged[place] ^= 0x40
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError, match="not a checkpoint of this training"):
            trainer.restore(path)
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(ModelFileError):
        trainer.restore(path)
    other = trimtab.Trainer(trimtab.training(small(), optimizer="sgd"))
    other.save(path)
    with pytest.raises(ModelFileError, match="its tensors are not those of the training"):
        trainer.restore(path)
    assert all(trainer.values[name] is value for name, value in before.items())


OWN = {"a": (2, 3), "b": (6,), "c": (4,)}


@pytest.mark.parametrize(
    "other",
    [
        {"a": (3, 2), "b": (6,), "c": (4,)},
        {"a": (6,), "b": (6,), "c": (4,)},
        {"a": (2, 3), "x": (6,), "c": (4,)},
        {"b": (6,), "a": (2, 3), "c": (4,)},
        {"a": (2, 3), "b": (6,)},
        {"a": (2, 3), "b": (6,), "c": (4,), "d": (0,)},
    ],
    ids=str,
)
def test_a_checkpoint_of_equal_sizes_and_other_names_shapes_or_order_is_refused(
    other: dict[str, tuple[int, ...]],
) -> None:
    own, foreign = (
        {name: np.full(shape, 7, np.float32) for name, shape in shapes.items()}
        for shapes in (OWN, other)
    )
    data = checkpoint.encode(own, 5)
    values, steps = checkpoint.decode(data, own, "here")
    assert (list(values), steps) == (list(own), 5)
    with pytest.raises(ModelFileError, match="its tensors are not those of the training"):
        checkpoint.decode(data, foreign, "here")
    with pytest.raises(ModelFileError, match="its tensors are not those of the training"):
        checkpoint.decode(checkpoint.encode(foreign, 5), own, "here")


def test_dropout_zeroes_its_share_and_keeps_the_mean() -> None:
    net = Net(data=(20, 500))
    net.finish(net("mul", "data", np.ones(500, np.float32)))
    (name,) = (var.name for var in net.program.constants())
    training = trimtab.training(
        net.program,
        loss=trimtab.Loss("sum"),
        trainable=[name],
        optimizer=trimtab.Solver(rate=1.0, momentum=0.0),
        dropout={"*": 0.25},
    )
    trainer = trimtab.Trainer(training, seed=1)
    loss = trainer.step({"data": np.ones((20, 500), np.float32)})
    assert loss == pytest.approx(10_000, rel=0.03)
    gradient = 1 - trainer.parameters[name]  # the sum of a column of the mask
    assert gradient.sum() == pytest.approx(loss, rel=1e-4)
    quanta = gradient * 0.75
    np.testing.assert_allclose(quanta, quanta.round(), atol=1e-3)
    assert trainer.step({"data": np.ones((20, 500), np.float32)}) != loss
    same = trimtab.Trainer(training, seed=1)
    assert same.step({"data": np.ones((20, 500), np.float32)}) == loss


def test_labels_may_be_of_any_integer_type_and_inputs_are_checked() -> None:
    training = trimtab.training(small())
    losses = {
        trimtab.Trainer(training).step({"data": DATA, "label": LABELS.astype(dtype)})
        for dtype in (np.int32, np.int64, np.uint8)
    }
    assert len(losses) == 1
    trainer = trimtab.Trainer(training)
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"data": DATA}, "inputs are missing: label"),
        ({"data": DATA, "label": LABELS, "mask": LABELS}, "unknown inputs: mask"),
        ({"data": DATA, "label": LABELS.astype(np.float32)}, "label"),
        ({"data": DATA, "label": np.array([1, 4])}, "input 'label' has the label 4"),
        ({"data": DATA, "label": np.array([-1, 2**40])}, "input 'label' has the label -1"),
        ({"data": DATA, "label": LABELS, "learning_rate": 1.0}, "is a value of the trainer"),
    )
    for inputs, message in cases:
        with pytest.raises(UsageError) as error:
            trainer.step(inputs)
        assert message in error.value.what
    assert trainer.iteration == 0


def test_dropout_is_checked() -> None:
    for ratios, message in (({"*": 1.0}, "ratio of dropout"), ({"fc9": 0.5}, "no operator fits")):
        with pytest.raises(UsageError, match=message):
            trimtab.training(small(), dropout=ratios)
