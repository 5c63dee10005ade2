"""Shows pictures to the network of a recipe: here, or with the trimmed binary on a device."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import files, heads, paths
from trimtab.bench.runner import Command, interpret, output_dims
from trimtab.build.toolchain import find_toolchain
from trimtab.devices import Device, DeviceDefinition, find_device
from trimtab.devices.control import Control, controlled
from trimtab.devices.protocol import Transcript
from trimtab.errors import RunnerError, UsageError
from trimtab.heads import HeadRequest
from trimtab.pipeline import input_shapes, reference
from trimtab.pipeline.built import Built
from trimtab.pipeline.loaded import load
from trimtab.pipeline.measured import build_for, ready_device
from trimtab.pipeline.planned import Planned, plan
from trimtab.pipeline.recipe import Recipe
from trimtab.pipeline.resolve import load_program
from trimtab.program import Program
from trimtab.program.block import NUMPY_DTYPES
from trimtab.progress import SILENT, Progress
from trimtab.session import Session
from trimtab.sight import AUTO, Showing, Sight

Array = NDArray[Any]

_LAUNCH_S = 600.0
_MOST_ELEMENT_BYTES = 8


def look(
    recipe: Recipe,
    pictures: Iterable[Array],
    view: str = AUTO,
    head: str = AUTO,
    device: str = "",
    progress: Progress = SILENT,
    *,
    beside_reference: bool = False,
) -> Iterator[Sight]:
    """Shows pictures to the network of a recipe: on this machine, or with the trimmed binary on a
    device.

    `view`, `head`: see `Showing.of`. `beside_reference`: the results also have those of the same
    network in float32, with the portable kernels of this machine. Raises the errors of `Showing`,
    those of the build and of the device.
    """
    definition = find_device(device) if device else None
    if definition:
        recipe = recipe.on_device(definition)
    program = load_program(recipe.model, input_shapes.without_bounds(recipe.shapes))
    for shape, group in groupby(pictures, key=lambda picture: picture.shape):
        showing = Showing.of(program, np.empty(shape, np.uint8), view, head)
        own = replace(recipe, cameras={showing.input: showing.camera}, head=showing.head)
        if definition:
            sights = _on_device(definition, own, showing, group, progress, beside_reference)
        else:
            sights = _here(own, showing, group, progress, beside_reference)
        yield from sights
        if head == AUTO and not (showing.head or program.planned):
            for line in _heads_that_fit(program).splitlines():
                progress.note(line)


def _heads_that_fit(program: Program) -> str:
    """Why the outputs of a network are shown as they are, and the heads that would read them."""
    try:
        heads.prove(program, HeadRequest(AUTO))
    except UsageError as error:
        return str(error)
    raise AssertionError("a head that the file names is not left out")


def _here(
    recipe: Recipe,
    showing: Showing,
    pictures: Iterable[Array],
    progress: Progress,
    beside_reference: bool,
) -> Iterator[Sight]:
    planned = plan(load(recipe, progress), progress)
    session = Session(planned.program, threads=recipe.threads)
    expected = _reference(planned, showing) if beside_reference else None
    is_first = True
    for picture in pictures:
        if is_first:
            session.run({showing.input: picture})  # it also takes memory that later ones have
        is_first = False
        begin = time.perf_counter()
        results = session.run({showing.input: picture})
        ms = (time.perf_counter() - begin) * 1e3
        yield showing.sight(picture, results, ms, expected and expected(picture))


def _reference(planned: Planned, showing: Showing) -> Callable[[Array], dict[str, Array]]:
    """Computes the results of the reference for a picture."""
    session = reference.host_session(planned.loaded.source)
    return lambda picture: session.run({showing.input: picture})


def _on_device(
    definition: DeviceDefinition,
    recipe: Recipe,
    showing: Showing,
    pictures: Iterable[Array],
    progress: Progress,
    beside_reference: bool,
) -> Iterator[Sight]:
    core = find_toolchain(recipe.toolchain).core(recipe.cpu).name
    folder = paths.cache() / "look" / f"{Path(recipe.model).stem}-{recipe.toolchain}-{core}"
    room = ready_device(definition, recipe.toolchain)
    built = build_for(room, replace(recipe, output=folder), progress)
    assert built.delivered.model, "the recipe embeds no model"
    with (
        definition.open() as device,
        controlled(device, Control(governor="keep"), purpose="run") as control,
        tempfile.TemporaryDirectory(prefix="trimtab-") as local,
    ):
        command = Command(
            device.push(built.delivered.runner, progress).path,
            device.push(built.delivered.model, progress).path,
            [],
            threads=recipe.threads,
            cores=control.cores,
        )
        expected = _reference(built.planned, showing) if beside_reference else None
        for picture in pictures:
            results, ms = _launched(device, command, built, picture, Path(local))
            yield showing.sight(picture, results, ms, expected and expected(picture))


def _launched(
    device: Device, command: Command, built: Built, picture: Array, local: Path
) -> tuple[dict[str, Array], float | None]:
    """The outputs of one launch of the runner on a picture, and the milliseconds of its run; None
    on an emulator.
    """
    program, is_emulated = built.planned.program, device.describe().is_emulated
    frame = local / "picture.rgb"
    files.write_bytes(frame, picture.tobytes())
    with device.scratch() as scratch:
        own = replace(command, inputs=[device.push(frame).path], output_dir=scratch)
        launch = interpret(device.run(own.argv(), timeout_s=_LAUNCH_S, transcript=Transcript()))
        if launch.error:
            raise launch.error
        dims = output_dims(launch.events)
        results: dict[str, Array] = {}
        for i, name in enumerate(program.outputs):
            var, path = program.vars[name], local / f"out{i}.bin"
            most = math.prod(var.shape) * _MOST_ELEMENT_BYTES
            device.pull(f"{scratch}/{path.name}", path, limit_bytes=most)
            try:
                values = np.frombuffer(path.read_bytes(), NUMPY_DTYPES[var.dtype])
                results[name] = values.reshape(dims.get(i, var.shape))
            except ValueError:
                raise RunnerError(
                    f"output {name!r} has {path.stat().st_size:,} bytes, which is not its size",
                    where=device.name,
                ) from None
    spans = [event["ns"] for event in launch.events if event["event"] == "run"]
    return results, None if is_emulated or not spans else min(spans) / 1e6
