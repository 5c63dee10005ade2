"""Trains on a device: its runner makes the steps, and streams their losses."""

from __future__ import annotations

import shlex
import struct
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import files, paths, strict_json
from trimtab.bench.runner import Command, interpret
from trimtab.bench.runner_events import TRAINING
from trimtab.build.toolchain import find_toolchain
from trimtab.devices import Device, DeviceDefinition
from trimtab.devices.control import Control, controlled
from trimtab.devices.protocol import Transcript
from trimtab.learning import checkpoint, schedule
from trimtab.learning.loaded import load
from trimtab.learning.prepared import PreparedTraining
from trimtab.learning.training_program import TrainingProgram
from trimtab.pipeline.built import Built, build
from trimtab.pipeline.loaded import file_stem
from trimtab.pipeline.measured import ready_device
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import Recipe
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.progress import SILENT, Progress

Array = NDArray[Any]
_LAUNCH_S = 86400.0
_LAUNCH_BYTES = 32 << 20  # of batches


@dataclass
class RemoteTrainer:
    """A training on a device, whose values are in a checkpoint there.

    `runner` and `model` are paths there, `state` that of the checkpoint; `folder` takes temporary
    files of this machine. `steps` is the number of completed steps.
    """

    training: TrainingProgram
    device: Device
    runner: str
    model: str | None
    state: str
    folder: Path
    threads: int = 1
    seed: int = 0
    steps: int = field(default=0, init=False)

    def begin(self, path: str | Path = "") -> None:
        """Begins with the checkpoint of an earlier training, or anew. ModelFileError if the file is
        damaged or of another training.
        """
        values = self.training.in_order(self.training.initial)
        if path:
            values, self.steps = checkpoint.read(Path(path), values)
        local = self.folder / "begin.checkpoint"
        checkpoint.write(local, values, self.steps)
        pushed = self.device.push(local).path
        self.device.shell(shlex.join(["mv", "-f", pushed, self.state]), "place the checkpoint")

    def advance(
        self, batches: Iterable[Mapping[str, Array]], on_loss: Callable[[float], None]
    ) -> None:
        """Makes a step with each batch on the device, and reports its loss when it arrives.

        Raises the error that the runner reports; the checkpoint is then as before the launch, or
        that of a later step.
        """
        operands: dict[str, list[bytes]] = {}
        count = size = 0
        for batch in batches:
            step = self.steps + count
            own = schedule.operands(self.training, step, self.seed)
            for name in self._inputs():
                value = own[name] if name in own else self.training.checked(name, batch[name])
                data = np.asarray(value, order="C").tobytes()
                operands.setdefault(name, []).append(data)
                size += len(data)
            count += 1
            if size >= _LAUNCH_BYTES:
                self._launch(operands, count, on_loss)
                operands, count, size = {}, 0, 0
        if count:
            self._launch(operands, count, on_loss)

    def save(self, path: str | Path) -> None:
        """Fetches the checkpoint."""
        self.device.pull(self.state, Path(path))

    def network(self) -> Program:
        """The network with the present values of the device."""
        local = self.folder / "state.checkpoint"
        self.save(local)
        values, steps = checkpoint.read(local, self.training.in_order(self.training.initial))
        return self.training.trained(values, steps)

    def _inputs(self) -> list[str]:
        """The inputs that each step reads, without the values of the checkpoint."""
        names = self.training.program.inputs
        return [name for name in names if name not in self.training.next_values]

    def _launch(
        self, operands: Mapping[str, list[bytes]], count: int, on_loss: Callable[[float], None]
    ) -> None:
        pushed = []
        for i, batches in enumerate(operands.values()):
            path = self.folder / f"in{i}.bin"
            files.write_bytes(path, b"".join(batches))
            pushed.append(self.device.push(path).path)
        command = Command(
            self.runner, self.model, pushed, runs=count, threads=self.threads, train=self.state
        )
        transcript = _Losses(on_loss)
        result = self.device.run(command.argv(), timeout_s=_LAUNCH_S, transcript=transcript)
        self.device.shell(shlex.join(["rm", "-f", *pushed]), "remove the batches")
        launch = interpret(result, TRAINING)
        if launch.error:
            raise launch.error
        self.steps += count


class _Losses(Transcript):
    """A transcript that reports the loss of each step as soon as its line is complete."""

    def __init__(self, on_loss: Callable[[float], None]) -> None:
        super().__init__()
        self._on_loss, self._read = on_loss, 0

    def wrote(self, data: bytes) -> None:
        """See `Transcript`."""
        super().wrote(data)
        while (end := self.stdout.find(b"\n", self._read)) >= 0:
            line, self._read = bytes(self.stdout[self._read : end]), end + 1
            try:
                bits = strict_json.loads(line)["loss_bits"]
                self._on_loss(struct.unpack("<f", struct.pack("<I", bits))[0])
            except (ValueError, KeyError, TypeError, struct.error):
                continue  # another event, or garbage, which `interpret` reports


def runner_for(
    prepared: PreparedTraining,
    definition: DeviceDefinition,
    *,
    toolchain: str = "",
    cpu: str = "",
    threads: int = 1,
    trust_new: bool = False,
    progress: Progress = SILENT,
) -> Built:
    """Plans a training for a device and builds its runner, which is kept in the cache; errors of
    `builder.build` and `readiness.check`.
    """
    recipe = Recipe(toolchain=toolchain, cpu=cpu, plan=Plan(threads=threads)).on_device(definition)
    ready_device(definition, recipe.toolchain, trust_new=trust_new)
    core = find_toolchain(recipe.toolchain).core(recipe.cpu).name
    name = f"{prepared.training.program.name}-{recipe.toolchain}-{core}"
    output = paths.cache() / "train" / file_stem(name)
    recipe = replace(recipe, output=output)
    return build(plan(load(recipe, prepared), progress), progress)


@contextmanager
def remote_trainer(
    prepared: PreparedTraining,
    built: Built,
    definition: DeviceDefinition,
    *,
    trust_new: bool = False,
) -> Iterator[RemoteTrainer]:
    """Leases the device and pushes what `runner_for` has built for a training; clocks stay as they
    are.
    """
    control = Control(governor="keep", wait_s=600.0)
    with (
        definition.open(trust_new=trust_new) as device,
        controlled(device, control, purpose="train"),
        device.scratch() as scratch,
        tempfile.TemporaryDirectory(prefix="trimtab-") as folder,
    ):
        delivered = built.delivered
        yield RemoteTrainer(
            prepared.training,
            device,
            device.push(delivered.runner).path,
            device.push(delivered.model).path if delivered.model else None,
            f"{scratch}/state.checkpoint",
            Path(folder),
            built.recipe.threads,
            prepared.seed,
        )
