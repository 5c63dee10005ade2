"""Runs programs on a device, with the runner of a build."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import files
from trimtab.bench.runner import Command, interpret
from trimtab.devices import Device, DeviceDefinition
from trimtab.devices.control import Control, controlled
from trimtab.pipeline.resolve import find_target
from trimtab.profile import Profile
from trimtab.program import Program
from trimtab.program.block import NUMPY_DTYPES
from trimtab.session import optimize
from trimtab.target import Target

Array = NDArray[Any]
_LAUNCH_S = 600.0


@dataclass(frozen=True)
class RemoteRunner:
    """A runner on a connected device, and the target to plan programs for."""

    device: Device
    runner: str
    target: Target

    def compute(
        self, program: Program, inputs: Mapping[str, Array], folder: Path, threads: int = 1
    ) -> dict[str, Array]:
        """The outputs of a program, by name. `folder` takes temporary files of this machine.

        Raises the error that the runner reports.
        """
        program = optimize(program, self.target)
        program.save(folder / "model.ttm")
        pushed = []
        for i, name in enumerate(program.inputs):
            path = folder / f"in{i}.bin"
            files.write_bytes(path, np.asarray(inputs[name], order="C").tobytes())
            pushed.append(self.device.push(path).path)
        outputs = {}
        with self.device.scratch() as scratch:
            model = self.device.push(folder / "model.ttm").path
            command = Command(self.runner, model, pushed, output_dir=scratch, threads=threads)
            launch = interpret(self.device.run(command.argv(), timeout_s=_LAUNCH_S))
            if launch.error:
                raise launch.error
            for i, name in enumerate(program.outputs):
                self.device.pull(f"{scratch}/out{i}.bin", folder / "out.bin")
                var = program.vars[name]
                values = np.fromfile(folder / "out.bin", NUMPY_DTYPES[var.dtype])
                outputs[name] = _of_run(values, var.shape)
        return outputs


def _of_run(values: Array, largest: tuple[int, ...]) -> Array:
    """An output in its shape, of which one dimension may be smaller than in `largest`: the longest
    one that can be.
    """
    sizes = list(largest)
    for axis in sorted(range(len(sizes)), key=lambda axis: -largest[axis]):
        others = math.prod(largest[:axis] + largest[axis + 1 :])
        if others and values.size % others == 0 and values.size // others <= largest[axis]:
            sizes[axis] = values.size // others
            break
    return values.reshape(sizes)


@contextmanager
def remote_runner(
    definition: DeviceDefinition, runner: Path, purpose: str, profile: Profile | None = None
) -> Iterator[RemoteRunner]:
    """Leases the device for `purpose` and pushes `runner`; clocks stay as they are.

    `profile`: the contents of the runner; None: everything that a program may need.
    """
    target = find_target(definition.toolchain, definition.cpu or "")
    if profile:
        target = target.with_profile(profile.narrowed(target.arch, target.isas))
    control = Control(governor="keep", wait_s=_LAUNCH_S)
    with definition.open() as device, controlled(device, control, purpose=purpose):
        yield RemoteRunner(device, device.push(runner).path, target)
