"""Instruction sets with fused multiply-add learn the same values with vectors of any length."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import trimtab
from examples.digits.digits import draw, lenet, weights
from trimtab.target import Target

BATCH, STEPS = 5, 4


@pytest.mark.parametrize("optimizer", ["sgd", "nesterov", "adam"])
def test_avx2_and_avx512_learn_the_same_bit_for_bit(optimizer: str) -> None:
    host = Target.host()
    shorter = replace(host, isas=tuple(isa for isa in host.isas if "avx512" not in isa))
    training = trimtab.training(
        trimtab.load(lenet(BATCH, weights(seed=1))),
        optimizer=trimtab.Solver(optimizer, rate=0.001, weight_decay=0.01, clip_gradients=2.0),
    )
    trainers = [
        trimtab.Trainer(replace(training, program=trimtab.optimize(training.program, target)))
        for target in (host, shorter)
    ]
    images, labels = draw(BATCH * STEPS, seed=1)
    for step in range(STEPS):
        some = slice(BATCH * step, BATCH * (step + 1))
        losses = [
            trainer.step({"data": images[some], "label": labels[some]}) for trainer in trainers
        ]
        assert losses[0] == losses[1]
    for name, value in trainers[0].values.items():
        np.testing.assert_array_equal(value, trainers[1].values[name], err_msg=name)
