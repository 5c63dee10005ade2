"""Networks of the zoo with fixed batch normalization: all weights are trained as by PyTorch."""

from __future__ import annotations

import itertools

import pytest

import trimtab
from tests.learning.torch_networks_record import (
    RATES,
    STEPS,
    batches,
    network,
    recorded_losses,
)


def check(name: str, steps: int) -> None:
    """Compares the losses of the first steps."""
    built = trimtab.training(network(name), optimizer=trimtab.Solver("sgd", rate=RATES[name]))
    trainer = trimtab.Trainer(built)
    losses = [
        trainer.step({"data": images, "label": labels})
        for images, labels in itertools.islice(batches(), steps)
    ]
    assert losses == pytest.approx(recorded_losses()[name][:steps], rel=1e-3)


@pytest.mark.parametrize("name", RATES)
def test_the_first_losses_of_a_network_follow_those_of_pytorch(name: str) -> None:
    check(name, 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", RATES)
def test_the_losses_of_a_network_follow_those_of_pytorch(name: str) -> None:
    check(name, STEPS)
