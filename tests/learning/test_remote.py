"""Trainings on devices: the same values as here, and checkpoints that survive a SIGKILL."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

import trimtab
from examples.digits.digits import draw, lenet, weights
from tests.devices.conftest import SshServer, require, start_sshd
from tests.small_programs import Net
from trimtab.devices import find_device
from trimtab.learning import checkpoint
from trimtab.learning.loaded import load
from trimtab.learning.prepared import PreparedTraining, prepare
from trimtab.learning.remote import RemoteTrainer, remote_trainer, runner_for
from trimtab.learning.request import TrainingRequest
from trimtab.learning.settings import Solver
from trimtab.pipeline import loaded
from trimtab.pipeline.built import Built, build
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import Recipe
from trimtab.program import Program

pytestmark = pytest.mark.build
__all__ = ["start_sshd"]  # a fixture

ROOT = Path(__file__).resolve().parents[2]
BAD_FILE, IO, USAGE = 1, 8, 64


def network(folder: Path) -> Path:
    """data [4, 2, 5, 5] -> convolution, rectifier, gemm -> [4, 3]."""
    rng = np.random.default_rng(1)

    def normal(*shape: int) -> NDArray[np.float32]:
        return rng.standard_normal(shape).astype(np.float32)

    net = Net(data=(4, 2, 5, 5))
    x = net("relu", net("conv", "data", normal(6, 2, 3, 3), normal(6), strides=(2, 2)))
    net.finish(net("gemm", net("reshape", x, shape=(4, 24)), normal(3, 24), normal(3)))
    net.program.save(folder / "small.ttm")
    return folder / "small.ttm"


@dataclass(frozen=True)
class Small:
    """A training whose runner is built for this machine."""

    prepared: PreparedTraining
    built: Built

    @property
    def runner(self) -> str:
        """The path of the runner."""
        return str(self.built.delivered.runner)

    @property
    def model(self) -> str:
        """The path of the model."""
        return str(self.built.delivered.model)

    def batches(self, count: int) -> list[dict[str, NDArray[Any]]]:
        """Batches with labels."""
        rng = np.random.default_rng(3)
        return [
            {
                "data": rng.standard_normal((4, 2, 5, 5), np.float32),
                "label": rng.integers(0, 3, 4),
            }
            for _ in range(count)
        ]

    def arguments(self, folder: Path, state: Path, count: int, runs: int) -> list[str]:
        """The command line of the runner for `count` batches."""
        words = [self.runner, self.model, "--train", str(state), "--runs", str(runs)]
        batches = self.batches(count)
        arrays = [np.stack([one["data"] for one in batches])]
        arrays += [np.stack([one["label"] for one in batches]).astype(np.int32)]
        arrays += [np.full(count, 1e-3, np.float32)]
        for i, array in enumerate(arrays):
            (folder / f"in{i}.bin").write_bytes(array.tobytes())
            words += ["--input", str(folder / f"in{i}.bin")]
        return words

    def initial(self) -> dict[str, NDArray[np.float32]]:
        """The first values, in the order of a checkpoint."""
        training = self.prepared.training
        return training.in_order(training.initial)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Small:
    model = network(tmp_path_factory.mktemp("small"))
    solver = Solver("sgd", rate=0.05, clip_gradients=1.0)
    request = TrainingRequest(str(model), optimizer=solver)
    prepared = prepare(request)
    return Small(prepared, runner_for(prepared, find_device("local")))


@pytest.fixture
def remote(small: Small) -> Iterator[RemoteTrainer]:
    with remote_trainer(small.prepared, small.built, find_device("local")) as trainer:
        yield trainer


def test_a_device_learns_what_this_process_learns(
    small: Small, remote: RemoteTrainer, tmp_path: Path
) -> None:
    here, there = trimtab.Trainer(small.prepared.training), list[float]()
    batches = small.batches(7)
    expected = [here.step(batch) for batch in batches]
    remote.begin()
    remote.advance(batches[:3], there.append)
    remote.save(tmp_path / "three.checkpoint")
    remote.advance(batches[3:], there.append)
    assert there == pytest.approx(expected, rel=1e-5)
    assert remote.steps == here.steps == 7
    network, other = remote.network(), here.network()
    for name in small.prepared.training.parameters:
        value = np.asarray(network.vars[name].data)
        assert value == pytest.approx(np.asarray(other.vars[name].data), abs=1e-5)
    again = list[float]()
    remote.begin(tmp_path / "three.checkpoint")  # bit for bit
    remote.advance(batches[3:], again.append)
    assert (again, remote.steps) == (there[3:], 7)


@pytest.mark.device
def test_a_board_behind_ssh_streams_its_losses(
    small: Small,
    start_sshd: Callable[..., SshServer],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRIMTAB_CONFIG_DIR", str(tmp_path))
    server = start_sshd()
    server.define(tmp_path, "shelf")
    here, there = trimtab.Trainer(small.prepared.training), list[float]()
    batches = small.batches(5)
    shelf = find_device("shelf")
    with remote_trainer(small.prepared, small.built, shelf, trust_new=True) as trainer:
        trainer.begin()
        trainer.advance(batches, there.append)
        trainer.save(tmp_path / "five.checkpoint")
        there_are = {path.name for path in (server.folder / "remote").rglob("*")}
    assert there == pytest.approx([here.step(batch) for batch in batches], rel=1e-5)
    assert checkpoint.read(tmp_path / "five.checkpoint", small.initial())[1] == 5
    assert "state.checkpoint" in there_are
    assert not [name for name in there_are if "in0" in name or "begin" in name]  # they pile up


def test_a_checkpoint_is_whole_wherever_the_runner_is_killed(small: Small, tmp_path: Path) -> None:
    state, rng = tmp_path / "state.checkpoint", random.Random(4)
    checkpoint.write(state, small.initial(), 0)
    words = [*small.arguments(tmp_path, state, 5, 1_000_000), "--save-every", "1", "--trust"]
    before, kills = 0, 0
    while kills < 20 or before <= 20:  # a slow machine saves less between two of them
        assert kills < 400
        kills += 1
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as runner:
            time.sleep(rng.uniform(0.002, 0.05))
            runner.send_signal(signal.SIGKILL)
            lines, _ = runner.communicate()
        saved = [json.loads(line) for line in lines.splitlines() if line.endswith("}")]
        steps = [one["steps"] for one in saved if one["event"] == "step" and one["saved"]]
        values, now = checkpoint.read(state, small.initial())
        assert now >= max([before, *steps])
        assert all(np.isfinite(value).all() for value in values.values())
        before = now


def test_what_is_no_checkpoint_of_the_model_is_refused(small: Small, tmp_path: Path) -> None:
    state = tmp_path / "state.checkpoint"
    whole = checkpoint.encode(small.initial(), 0)
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 4
    other = dict(small.initial())
    name = next(iter(other))
    other[name] = np.zeros((other[name].size + 16,), np.float32)
    files = {
        "not a checkpoint": b"#!/bin/sh\n" * 20,
        "a damaged checkpoint": bytes(flipped),
        "a checkpoint of another model": checkpoint.encode(other, 0),
    }
    words = small.arguments(tmp_path, state, 2, 3)
    for message, data in files.items():
        state.write_bytes(data)
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == BAD_FILE
        assert message in done.stdout
        assert state.read_bytes() == data
    for size in range(0, len(whole), 57):
        state.write_bytes(whole[:size])
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode in (BAD_FILE, IO), size
    state.write_bytes(whole)
    for wrong, code in ((words[:-2], IO), ([*words, "--save-every", "0"], USAGE)):
        done = subprocess.run(wrong, capture_output=True, text=True, check=False)
        assert done.returncode == code
    state.unlink()
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, "cannot open the checkpoint" in done.stdout) == (IO, True)


def adapted(small: Small, folder: Path, *words: str) -> list[float]:
    """The losses that the program of docs/training.md prints, compiled against the delivered
    library with these words; its checkpoint must have been saved.
    """
    page = (ROOT / "docs" / "training.md").read_text()
    (program,) = (text for text in page.split("```c\n")[1:])
    text = program.partition("```")[0]
    assert "BATCH 32" in text
    (folder / "adapt.c").write_text(text.replace("BATCH 32", "BATCH 4").replace("28 * 28", "50"))
    prefix = small.built.delivered.output_dir
    argv = [require("cc", "gcc"), "-std=c99", "-Wall", "-Werror", "adapt.c", *words]
    argv += ["-o", "adapt", f"-I{prefix}", str(prefix / "libtrimtab.a"), "-lm", "-pthread"]
    subprocess.run(argv, cwd=folder, check=True)
    state = folder / "net.checkpoint"
    checkpoint.write(state, small.initial(), 0)
    shutil.copy(small.model, folder / "net.ttm")
    done = subprocess.run(["./adapt"], cwd=folder, capture_output=True, text=True, check=True)
    losses = [float(line) for line in done.stdout.splitlines()]
    assert checkpoint.read(state, small.initial())[1] == len(losses)
    return losses


def test_a_program_in_c_trains(small: Small, tmp_path: Path) -> None:
    losses = adapted(small, tmp_path)
    assert len(losses) == 100
    assert losses[-1] < 0.5 * losses[0]


def test_a_checkpoint_is_whole_if_signals_interrupt_its_writes(
    small: Small, tmp_path: Path
) -> None:
    """Writes that give nothing, then a part, as those to a file system in a network may."""
    (tmp_path / "interrupted.c").write_text(
        "#include <errno.h>\n#include <sys/types.h>\n"
        "ssize_t __real_write(int file, const void* data, size_t size);\n"
        "ssize_t __wrap_write(int file, const void* data, size_t size) {\n"
        "  static int calls;\n"
        "  if (calls++ % 2 == 0) { errno = EINTR; return -1; }\n"
        "  return __real_write(file, data, size > 1000 ? 1000 : size);\n}\n"
    )
    assert len(adapted(small, tmp_path, "interrupted.c", "-Wl,--wrap=write")) == 100


def test_inference_binaries_have_nothing_of_it(small: Small) -> None:
    folder = Path(small.model).parent
    recipe = Recipe(str(small.prepared.path), output=folder.parent / "inference")
    plain = build(plan(loaded.load(recipe))).delivered
    assert b"trimtab_train_step" in Path(small.built.delivered.library).read_bytes()
    for file in (plain.library, plain.unstripped):
        assert b"trimtab_train" not in file.read_bytes()
    assert b"--train" not in plain.runner.read_bytes()


@dataclass(frozen=True)
class Twins:
    """One training of LeNet on digits, on this machine and on an emulated Cortex-A53: losses and
    trained networks.
    """

    losses: tuple[list[float], list[float]]
    networks: tuple[Program, Program]


def lenet_twice(folder: Path, batch: int, steps: int, digits: int) -> Twins:
    """Trains on batches of so many digits, in turn."""
    require("qemu-aarch64", "qemu-user")
    onnx.save(lenet(batch, weights(seed=1)), folder / "lenet.onnx")
    solver = Solver(rate=0.01, momentum=0.9, weight_decay=0.0005)
    prepared = prepare(TrainingRequest(str(folder / "lenet.onnx"), optimizer=solver))
    images, labels = draw(digits, seed=1)
    chosen = [np.arange(batch * i, batch * (i + 1)) % digits for i in range(steps)]
    batches = [{"data": images[some], "label": labels[some]} for some in chosen]
    trainer = trimtab.Trainer(prepared.training)
    here, there = [trainer.step(one) for one in batches], list[float]()
    definition = find_device("qemu-a53")
    built = runner_for(prepared, definition)
    with remote_trainer(prepared, built, definition) as remote:
        remote.begin()
        remote.advance(batches, there.append)
        return Twins((here, there), (trainer.network(), remote.network()))


@pytest.mark.device
def test_lenet_has_the_same_losses_on_arm(tmp_path: Path) -> None:
    here, there = lenet_twice(tmp_path, batch=4, steps=3, digits=12).losses
    assert there == pytest.approx(here, abs=1e-5)


@pytest.mark.device
@pytest.mark.slow
def test_lenet_learns_the_digits_on_arm_with_the_same_losses(tmp_path: Path) -> None:
    twins = lenet_twice(tmp_path, batch=32, steps=100, digits=1600)
    here, there = twins.losses
    assert there == pytest.approx(here, abs=1e-5)
    images, labels = draw(320, seed=2)
    for network in twins.networks:
        session = trimtab.Session(network)
        scores = [session.run(images[i : i + 32])["ip2"] for i in range(0, 320, 32)]
        assert np.mean(np.concatenate(scores).argmax(1) == labels) >= 0.98


@pytest.mark.slow
def test_a_binary_for_the_last_block_of_mobilenet_v2_has_at_most_160_kilobytes(
    tmp_path: Path,
) -> None:
    block = [f"conv_{i}" for i in (141, 144, 146)] + ["gemm_150"]
    block += [f"batchnormalization_{i}" for i in (142, 145, 147)]
    request = TrainingRequest("mobilenet_v2", trainable=dict.fromkeys(block, (1.0, 1.0)))
    recipe = Recipe(
        toolchain="aarch64-linux-musl",
        cpu="cortex-a53",
        output=tmp_path / "last",
    )
    assert build(plan(load(recipe, prepare(request)))).delivered.runner.stat().st_size <= 160_000
