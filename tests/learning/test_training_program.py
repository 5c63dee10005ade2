"""Training programs: LeNet against PyTorch, what is frozen, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import trimtab
from examples.digits.digits import lenet, weights
from tests.learning.networks import small
from tests.learning.torch_record import BATCH, DECAY, OPTIMIZERS, RATE, batches, recorded_losses
from tests.small_programs import Net, normal
from trimtab.errors import ProgramError, UsageError


def lenet_trainer(optimizer: str, batch: int, seed: int, decay: float = 0.0) -> trimtab.Trainer:
    """A trainer of LeNet with random weights."""
    network = trimtab.load(lenet(batch, weights(seed)))
    solver = trimtab.Solver(optimizer, rate=RATE, weight_decay=decay)
    return trimtab.Trainer(trimtab.training(network, optimizer=solver))


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_losses_of_lenet_follow_those_of_pytorch(optimizer: str) -> None:
    trainer = lenet_trainer(optimizer, BATCH, seed=5, decay=DECAY)
    losses = [trainer.step({"data": x, "label": labels}) for x, labels in batches()]
    assert losses == pytest.approx(recorded_losses()[optimizer], rel=1e-3, abs=1e-3)


def test_frozen_layers_stay_fused() -> None:
    program = small()
    last = program.ops[-2].inputs[1]
    built = trimtab.training(program, trainable=[last])
    optimized = trimtab.optimize(built.program)
    assert built.parameters == (last,)
    convolutions = [op for op in optimized.ops if op.type.startswith("conv")]
    assert len([op for op in convolutions if op.type != "convert_layout"]) == 2
    assert not any(op.type in ("relu", "im2col", "clip_gradient") for op in optimized.ops)


def test_the_loss_falls_and_the_trained_network_computes_it() -> None:
    built = trimtab.training(small(), optimizer=trimtab.Solver("adam", rate=0.01))
    trainer = trimtab.Trainer(built)
    data, labels = normal(2, 3, 6, 6), np.array([1, 3], np.int32)
    losses = [trainer.step({"data": data, "label": labels}) for _ in range(20)]
    assert losses[-1] < 0.2 * losses[0]
    output = trimtab.Session(trainer.network()).run(data)
    (probabilities,) = output.values()
    loss = -np.log(probabilities[[0, 1], labels]).mean()
    assert trainer.step({"data": data, "label": labels}) == pytest.approx(loss, rel=1e-3)


def test_what_has_no_gradient_is_named() -> None:
    net = Net(data=(2, 4))
    net.finish(net("round", net("gemm", "data", normal(3, 4))))
    with pytest.raises(ProgramError, match="operator round has no gradient") as error:
        trimtab.training(net.program, loss="euclidean")
    assert "freeze the layers before it" in error.value.hint


def test_unknown_names_are_refused_with_those_that_exist() -> None:
    program = small()
    for arguments, message in (
        ({"loss": "hinge"}, "no loss 'hinge'"),
        ({"optimizer": "lion"}, "no optimizer 'lion'"),
        ({"trainable": ["cnv*"]}, "no parameter fits 'cnv*'"),
        ({"loss": trimtab.Loss("softmax", output="logits")}, "no output 'logits'"),
        ({"loss": trimtab.Loss("softmax", target="data")}, "'data'"),
    ):
        with pytest.raises(UsageError) as error:
            trimtab.training(program, **arguments)
        assert message in error.value.what
        assert error.value.hint
