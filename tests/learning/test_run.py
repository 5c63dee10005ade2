"""Trainings of Caffe's solvers and of models: what is built, and what a run reports and learns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab
from trimtab.errors import ImportModelError, UsageError
from trimtab.learning import labeled_data
from trimtab.learning.prepared import PreparedTraining, prepare
from trimtab.learning.request import TrainingRequest
from trimtab.learning.run import TrainingRun, read_data, with_schedule
from trimtab.learning.trainer import Trainer

SOLVER = """
net: "net.prototxt" base_lr: 0.05 momentum: 0.9 weight_decay: 0.01 lr_policy: "fixed"
max_iter: 6 display: 2 test_iter: 2 test_interval: 3 snapshot: 3 iter_size: 2 random_seed: 1
"""
NETWORK = """
layer { name: "d" type: "Data" top: "data" top: "label" include { phase: TRAIN }
  data_param { batch_size: 4 } }
layer { name: "d" type: "Data" top: "data" top: "label" include { phase: TEST }
  data_param { batch_size: 5 } }
layer { name: "norm" type: "BatchNorm" bottom: "data" top: "norm"
  batch_norm_param { moving_average_fraction: 0.7 } }
layer { name: "hidden" type: "InnerProduct" bottom: "norm" top: "h" param { lr_mult: 1 }
  param { lr_mult: 2 decay_mult: 0 }
  inner_product_param { num_output: 16 weight_filler { type: "xavier" } } }
layer { name: "relu" type: "ReLU" bottom: "h" top: "h" }
layer { name: "drop" type: "Dropout" bottom: "h" top: "h" dropout_param { dropout_ratio: 0.25 } }
layer { name: "frozen" type: "InnerProduct" bottom: "h" top: "f" param { lr_mult: 0 }
  param { lr_mult: 0 } inner_product_param { num_output: 8 weight_filler { type: "xavier" } } }
layer { name: "ip" type: "InnerProduct" bottom: "f" top: "ip"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy"
  include { phase: TEST } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A solver, its network, and data for training and tests."""
    (tmp_path / "solver.prototxt").write_text(SOLVER)
    (tmp_path / "net.prototxt").write_text(NETWORK)
    rng = np.random.default_rng(2)
    for part, count in (("train", 23), ("test", 10)):
        (tmp_path / part).mkdir()
        labels = rng.integers(0, 3, count)
        data = rng.normal(labels[:, None, None, None], 1, (count, 2, 3, 5)).astype(np.float32)
        np.savez(tmp_path / part / "data.npz", data=data, label=labels)
    return tmp_path


def request(folder: Path) -> TrainingRequest:
    return TrainingRequest(solver=str(folder / "solver.prototxt"), data=str(folder))


def trained(
    prepared: PreparedTraining, folder: Path, checkpoint: str = ""
) -> tuple[Trainer, list[Mapping[str, Any]]]:
    """A trainer after a run, and the events of the run."""
    events: list[Mapping[str, Any]] = []
    trainer = Trainer(prepared.training, seed=prepared.seed)
    if checkpoint:
        trainer.restore(checkpoint)
    prepared = with_schedule(prepared, prefix=str(folder / "out"))
    TrainingRun(prepared, read_data(prepared, folder, None), events.append).run(trainer)
    return trainer, events


def test_a_solver_trains_its_network_and_resumes_bit_for_bit(folder: Path) -> None:
    prepared = prepare(request(folder))
    assert set(prepared.training.parameters) == {
        *("hidden.weight", "hidden.bias", "ip.weight", "ip.bias"),
    }
    trainer, events = trained(prepared, folder)
    order = [(event["event"], event["iteration"]) for event in events]
    assert order == [
        *[("test", 0), ("train", 2), ("snapshot", 3), ("test", 3), ("train", 4)],
        *[("train", 6), ("snapshot", 6), ("test", 6)],
    ]
    again, later = trained(prepared, folder, str(folder / "out_iter_3.checkpoint"))
    assert again.iteration == trainer.iteration == 6
    for name, value in trainer.values.items():
        assert np.array_equal(again.values[name], value)
    assert later[-1] == events[-1]


class Counting:
    """A trainer whose losses are 1, 2, 3, ..."""

    steps = 0

    def advance(self, batches: Iterable[object], on_loss: Callable[[float], None]) -> None:
        for _ in batches:
            self.steps += 1
            on_loss(float(self.steps))

    def save(self, path: str) -> None:
        """Writes nothing."""

    def network(self) -> None:
        raise AssertionError("nothing is tested")


def test_the_reported_loss_is_the_mean_of_the_steps_since_the_last_report(folder: Path) -> None:
    prepared = with_schedule(prepare(request(folder)), test_interval=0, snapshot=0, iterations=7)
    assert prepared.training.solver.iter_size == 2, "an update after two steps"
    events: list[Mapping[str, Any]] = []
    run = TrainingRun(prepared, read_data(prepared, folder, None), events.append)
    run.run(Counting())  # type: ignore[arg-type]
    reported = [(one["iteration"], one["loss"]) for one in events if one["event"] == "train"]
    assert reported == [(2, 2.5), (4, 6.5), (6, 10.5), (7, 13.5)]


def test_a_loss_has_an_anonymous_top_and_a_weight(folder: Path) -> None:
    losses = []
    for top in ('top: "loss"', "", 'top: "loss" loss_weight: 2'):
        (folder / "net.prototxt").write_text(NETWORK.replace('top: "loss"', top))
        _, events = trained(prepare(request(folder)), folder)
        losses.append(events[0]["loss"])
    assert losses == pytest.approx([losses[0], losses[0], 2 * losses[0]])


def test_a_bottom_without_propagate_down_cuts_the_backward_program(folder: Path) -> None:
    cut = NETWORK.replace('bottom: "f" top: "ip"', 'bottom: "f" top: "ip" propagate_down: false')
    (folder / "net.prototxt").write_text(cut)
    prepared = prepare(request(folder))
    assert set(prepared.training.parameters) == {"ip.weight", "ip.bias"}
    trainer, _ = trained(prepared, folder)
    network, before = trainer.network(), prepared.training.network
    for name, var in before.vars.items():
        changes = name in ("ip.weight", "ip.bias", "norm.mean", "norm.variance")
        if var.data is not None and network.vars[name].data is not None:
            assert np.array_equal(np.asarray(network.vars[name].data), var.data) != changes
    label = cut.replace('top: "loss"', 'top: "loss" propagate_down: 0 propagate_down: 0')
    (folder / "net.prototxt").write_text(label)
    with pytest.raises(ImportModelError, match="its prediction has no gradient"):
        prepare(request(folder))


def test_running_statistics_are_those_of_caffe(folder: Path) -> None:
    """Caffe sums decayed statistics and decayed ones, and divides the former by the latter."""
    prepared = prepare(request(folder))
    network = trained(prepared, folder)[0].network()
    examples = labeled_data.read(folder / "train", prepared.inputs)
    mean, variance, factor = np.zeros(2), np.zeros(2), 0.0
    for step in range(12):
        batch = examples.shuffled(step, 4, prepared.seed)["data"].astype(np.float64)
        factor = 0.7 * factor + 1
        mean = 0.7 * mean + batch.mean((0, 2, 3))
        variance = 0.7 * variance + batch.var((0, 2, 3)) * 60 / 59
    for name, total in (("norm.mean", mean), ("norm.variance", variance)):
        value = np.asarray(network.vars[name].data)
        assert value == pytest.approx(total / factor, rel=1e-5)


def test_a_test_has_the_loss_and_accuracy_of_the_test_phase(folder: Path) -> None:
    prepared = prepare(request(folder))
    trainer, events = trained(prepared, folder)
    data = np.load(folder / "test" / "data.npz")
    program = prepared.test.network.copy()
    for name, var in trainer.network().vars.items():
        if var.data is not None and name in program.vars:
            program.vars[name].data = var.data
    session = trimtab.Session(program)
    runs = [session.run({"data": data["data"][i : i + 5]})["ip"] for i in (0, 5)]
    scores = np.concatenate(runs).astype(np.float64)
    logarithms = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    loss = -logarithms[np.arange(10), data["label"]].mean()
    assert events[-1]["loss"] == pytest.approx(loss, rel=1e-5)
    assert events[-1]["accuracy"] == np.mean(scores.argmax(1) == data["label"])


def test_requests_that_name_nothing_to_do_are_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="what to train"):
        prepare(TrainingRequest())
    prepared = prepare(request(folder))
    endless = replace(prepared, schedule=replace(prepared.schedule, iterations=0))
    with pytest.raises(UsageError, match="how many iterations"):
        trained(endless, folder)
    with pytest.raises(UsageError, match="display must be at least 0, not -1"):
        with_schedule(prepared, display=-1)
    (folder / "test" / "data.npz").rename(folder / "test.npz")
    (folder / "test").rmdir()
    with pytest.raises(UsageError, match="no data for tests"):
        trained(prepared, folder)
