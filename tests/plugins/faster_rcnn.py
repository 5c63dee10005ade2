"""Runs a network with plug-ins, here or on a device, in a separate process, and saves the outputs.

    python -m tests.plugins.faster_rcnn PLUGIN MODEL INPUTS.npz DEVICE OUT.npz

DEVICE "": this machine.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import trimtab
from tests.ops.cases.case import Array
from trimtab import plugins


def main(plugin: str, model: str, inputs: str, device: str, out: str) -> None:
    plugins.add(plugin)
    program = trimtab.load(model)
    arrays = dict(np.load(inputs))
    if not device:
        results = trimtab.Session(program, threads=2).run(arrays)
    else:
        results = on_device(program, arrays, device, Path(out).parent)
    np.savez(out, allow_pickle=False, **results)


def on_device(
    program: trimtab.Program, arrays: dict[str, Array], name: str, folder: Path
) -> dict[str, Array]:
    """The outputs of a trimmed runner on the device."""
    from trimtab.build import builder
    from trimtab.devices import find_device
    from trimtab.pipeline.remote import remote_runner
    from trimtab.pipeline.resolve import find_target

    definition = find_device(name)
    target = find_target(definition.toolchain, definition.cpu or "")
    profile = trimtab.profile_of(program, target)
    assert {"proposal", "roi_pooling"} <= {*profile.ops}
    request = builder.BuildRequest(profile, folder / "build", definition.toolchain, definition.cpu)
    build = builder.build(request)
    with remote_runner(definition, build.runner, "test") as subject:
        return subject.compute(program, arrays, folder, threads=2)


if __name__ == "__main__":
    main(*sys.argv[1:])
