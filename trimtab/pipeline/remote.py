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
from trimtab.bench.runner import Command, interpret, output_dims
from trimtab.devices import Device, DeviceDefinition
from trimtab.devices.control import Control, controlled
from trimtab.errors import RunnerError
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
        """The outputs of a program, by name, which is planned first unless it is; `folder` takes
        temporary files of this machine.

        Raises the error that the runner reports.
        """
        program = program if program.planned else optimize(program, self.target)
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
            dims = output_dims(launch.events)
            for i, name in enumerate(program.outputs):
                var = program.vars[name]
                shape, dtype = dims.get(i, var.shape), NUMPY_DTYPES[var.dtype]
                most = math.prod(shape) * np.dtype(dtype).itemsize
                self.device.pull(f"{scratch}/out{i}.bin", folder / "out.bin", limit_bytes=most)
                values = np.fromfile(folder / "out.bin", dtype)
                if values.size != math.prod(shape):
                    what = f"output {name} has {values.size} elements, and the shape {shape}"
                    raise RunnerError(what, hint="the runner may have another version")
                outputs[name] = values.reshape(shape)
        return outputs


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
