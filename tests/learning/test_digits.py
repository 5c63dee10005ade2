"""LeNet learns drawn digits from nothing."""

from __future__ import annotations

import numpy as np
import pytest

import trimtab
from examples.digits.digits import draw, lenet, weights

BATCH, STEPS = 32, 150


@pytest.mark.slow
def test_lenet_learns_drawn_digits() -> None:
    solver = trimtab.Solver("sgd", rate=0.01, momentum=0.9, weight_decay=0.0005)
    network = trimtab.load(lenet(BATCH, weights(seed=3)))
    trainer = trimtab.Trainer(trimtab.training(network, optimizer=solver))
    images, labels = draw(BATCH * 64, seed=11)
    for step in range(STEPS):
        batch = np.arange(BATCH * step, BATCH * (step + 1)) % len(images)
        trainer.step({"data": images[batch], "label": labels[batch]})
    images, labels = draw(BATCH * 32, seed=12)
    session = trimtab.Session(trainer.network())
    scores = [session.run(images[i : i + BATCH])["ip2"] for i in range(0, len(images), BATCH)]
    assert np.mean(np.concatenate(scores).argmax(1) == labels) >= 0.98
