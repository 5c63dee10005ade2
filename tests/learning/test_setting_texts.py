"""Settings of a training as texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trimtab.errors import UsageError
from trimtab.learning import setting_texts
from trimtab.learning.settings import Loss, Solver


def test_losses_and_optimizers_are_read_with_the_types_of_their_settings() -> None:
    text = "softmax:output=prob,weight=0.3,ignore_label=255"
    assert setting_texts.loss(text) == Loss("softmax", "prob", weight=0.3, ignore_label=255)
    text = "adam:rate=0.001,policy=multistep,steps=10/20,iter_size=2"
    expected = Solver("adam", rate=0.001, policy="multistep", steps=(10, 20), iter_size=2)
    assert setting_texts.solver(text) == expected


def test_parameters_and_ratios_are_read() -> None:
    assert setting_texts.trainable([]) is None
    patterns = setting_texts.trainable(["*.bias=2,0", "ip2*"])
    assert patterns == {"*.bias": (2.0, 0.0), "ip2*": (1.0, 1.0)}
    assert setting_texts.ratios(["relu6=0.3", "relu7"]) == {"relu6": 0.3, "relu7": 0.5}


@pytest.mark.parametrize(
    ("read", "text", "match"),
    [
        (setting_texts.loss, "softmax:wait=1", "no setting 'wait'"),
        (setting_texts.loss, "softmax:weight=much", "weight cannot be 'much'"),
        (setting_texts.solver, "sgd:policy=never", "no learning-rate policy 'never'"),
        (lambda text: setting_texts.trainable([text]), "ip2=1", "cannot read the parameters"),
        (lambda text: setting_texts.ratios([text]), "relu6=half", "cannot read the dropout"),
    ],
)
def test_mistakes_are_errors_that_name_them(
    read: Callable[[str], Any], text: str, match: str
) -> None:
    with pytest.raises(UsageError, match=match):
        read(text)
