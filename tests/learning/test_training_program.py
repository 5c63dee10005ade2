"""Training programs: LeNet against PyTorch, what is frozen, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import trimtab
from examples.digits.digits import lenet, weights
from tests.learning.networks import residual_block, small
from tests.learning.torch_record import (
    BATCH,
    DECAY,
    RATE,
    batches,
    block_batches,
    recorded_losses,
)
from tests.small_programs import Net, normal
from trimtab.errors import ProgramError, UsageError


def test_the_losses_of_lenet_follow_those_of_pytorch() -> None:
    network = trimtab.load(lenet(BATCH, weights(seed=5)))
    solver = trimtab.Solver("sgd", rate=RATE, weight_decay=DECAY)
    trainer = trimtab.Trainer(trimtab.training(network, optimizer=solver))
    losses = [trainer.step({"data": x, "label": labels}) for x, labels in batches()]
    assert losses == pytest.approx(recorded_losses()["lenet"], rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("statistics", ["fixed statistics", "batch statistics"])
def test_a_residual_block_with_batch_normalization_follows_pytorch(statistics: str) -> None:
    batch = ["*"] if statistics == "batch statistics" else []
    network = residual_block()
    solver = trimtab.Solver("sgd", rate=0.05)
    built = trimtab.training(network, optimizer=solver, batch_statistics=batch)
    trainer = trimtab.Trainer(built)
    losses = [trainer.step({"data": x, "label": labels}) for x, labels in block_batches()]
    assert losses == pytest.approx(recorded_losses()[statistics], rel=1e-3, abs=1e-3)
    variance = trainer.network().vars["project.variance"].data
    before = network.vars["project.variance"].data
    expected = recorded_losses()["running"] if batch else before
    np.testing.assert_allclose(np.asarray(variance), np.asarray(expected), rtol=1e-3)


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


def test_several_losses_are_added_with_their_weights() -> None:
    net = Net(data=(2, 4))
    scores, box = net("gemm", "data", normal(3, 4)), net("gemm", "data", normal(4, 4))
    program = net.finish(scores, box)
    targets = {"data": normal(2, 4), "label": np.array([2, 0]), "box": normal(2, 4)}
    terms = (
        trimtab.Loss("softmax", scores, "label"),
        trimtab.Loss("smooth_l1", box, "box", weight=0.5),
    )
    single = []
    for loss, weight in zip(terms, (op.inputs[1] for op in program.ops), strict=True):
        trainer = trimtab.Trainer(trimtab.training(program, loss=loss, trainable=[weight]))
        single.append(trainer.step({name: targets[name] for name in ("data", loss.target)}))
    trainer = trimtab.Trainer(trimtab.training(program, loss=terms))
    assert trainer.step(targets) == pytest.approx(sum(single), rel=1e-5)
    with pytest.raises(UsageError, match="the network has several outputs"):
        trimtab.training(program)
    with pytest.raises(ProgramError, match="the loss does not depend on parameter"):
        trimtab.training(program, loss=terms[0])


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
        ({"batch_statistics": ["bn*"]}, "no batch normalization fits 'bn*'"),
        ({"loss": trimtab.Loss("softmax", target="data")}, "'data'"),
    ):
        with pytest.raises(UsageError) as error:
            trimtab.training(program, **arguments)
        assert message in error.value.what
        assert error.value.hint


def test_a_hint_names_an_operator_with_several_parameters_once() -> None:
    net = Net(data=(2, 4))
    net.finish(net("gemm", "data", normal(3, 4), normal(3)))
    (op,) = net.program.ops
    with pytest.raises(UsageError) as error:
        trimtab.training(net.program, trainable=[f"{op.name}x"])
    assert error.value.hint.removeprefix("there are ").split(", ").count(op.name) == 1


def test_a_network_without_weights_has_nothing_to_train() -> None:
    net = Net(data=(2, 4))
    net.program.outputs = [net("relu", net("add", "data", 1.0))]
    with pytest.raises(UsageError, match="has nothing to train"):
        trimtab.training(net.program)
    built = trimtab.training(net.program, force_backward=["data"])
    assert not built.parameters
