"""Damaged solvers of Caffe and their networks: a training begins, or an error of trimtab says why
not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.importers import damage
from tests.learning.test_run import NETWORK, SOLVER
from trimtab.learning import schedule
from trimtab.learning.prepared import prepare
from trimtab.learning.request import TrainingRequest
from trimtab.learning.run import TrainingRun, read_data, with_schedule
from trimtab.learning.trainer import Trainer

STRUCTURES = {"solver.prototxt": damage.of_text, "net.prototxt": damage.of_text}
POLICIES = {
    "fixed": "",
    "step": "gamma: 0.5 stepsize: 2",
    "multistep": "gamma: 0.5 stepvalue: 1 stepvalue: 3",
    "exp": "gamma: 0.5",
    "inv": "gamma: 0.5 power: 0.75",
    "poly": "power: 2",
}
OPTIMIZERS = {
    "SGD": 'clip_gradients: 1 regularization_type: "L1"',
    "Nesterov": "momentum2: 0.99",
    "Adam": "momentum2: 0.99 delta: 1e-8",
}
STEPS = (0, 1, 999, 10**9)
MOST = 4  # batches of an update or a test that are computed here


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data for training and tests."""
    folder, rng = tmp_path_factory.mktemp("examples"), np.random.default_rng(2)
    for part in ("train", "test"):
        (folder / part).mkdir()
        data = rng.standard_normal((5, 2, 3, 5)).astype(np.float32)
        np.savez(folder / part / "data.npz", data=data, label=rng.integers(0, 3, 5))
    return folder


def _write(folder: Path, policy: str, optimizer: str) -> None:
    text = SOLVER.replace('lr_policy: "fixed"', f'lr_policy: "{policy}" {POLICIES[policy]}')
    text += f'type: "{optimizer}" {OPTIMIZERS[optimizer]}\n'
    (folder / "solver.prototxt").write_text(text)
    (folder / "net.prototxt").write_text(NETWORK)


def _begin(folder: Path, examples: Path) -> list[Any]:
    """The events of the first iteration."""
    solver = str(folder / "solver.prototxt")
    prepared = prepare(TrainingRequest(solver=solver, data=str(examples)))
    for step in STEPS:
        assert isinstance(schedule.rate(prepared.training, step), float)
    events: list[Any] = []
    if prepared.training.solver.iter_size <= MOST and prepared.schedule.tests <= MOST:
        one = with_schedule(prepared, iterations=min(1, prepared.schedule.iterations))
        run = TrainingRun(one, read_data(one, examples, None), events.append)
        run.run(Trainer(one.training, seed=one.seed))
    return events


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_solvers_to_damage_train(
    policy: str, optimizer: str, examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _write(tmp_path, policy, optimizer)
    assert [one["event"] for one in _begin(tmp_path, examples)][:2] == ["test", "train"]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_solvers_train_or_raise_an_error_of_ours(
    data: st.DataObject,
    examples: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pytestconfig: pytest.Config,
) -> None:
    monkeypatch.chdir(tmp_path)  # snapshots
    damage.empty(tmp_path)
    policy, optimizer = st.sampled_from([*POLICIES]), st.sampled_from([*OPTIMIZERS])
    _write(tmp_path, data.draw(policy), data.draw(optimizer))
    damage.one_of(data, tmp_path, STRUCTURES)
    with damage.handled(tmp_path, pytestconfig, "solver"):
        _begin(tmp_path, examples)


def test_solvers_that_once_broke_are_handled(
    examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in damage.findings("solvers", tmp_path):
        with damage.handled(folder, pytestconfig, "solver"):
            _begin(folder, examples)
