"""Models the time of a model's binary, run under the emulator that simulates caches."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path

from lab.time_model import figures, throughput, traffic
from lab.time_model.figures import ModeledInference
from trimtab import __version__, cores
from trimtab.bench import oracle, runner
from trimtab.bench.golden import Golden
from trimtab.cores import Core
from trimtab.devices import CacheSimulator, find_device
from trimtab.errors import EmulatorError, UsageError
from trimtab.pipeline.built import build, subject_of
from trimtab.pipeline.instructions import emulated_device
from trimtab.pipeline.loaded import load
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import Recipe
from trimtab.program.block import NUMPY_DTYPES
from trimtab.progress import SILENT, Progress

_SECONDS = 3600.0


def model_time(recipe: Recipe, core: Core, progress: Progress = SILENT) -> ModeledInference:
    """Builds a model for the recipe's core, runs its binary once under QEMU with the simulated
    caches of `core`, and models its time on `core`.

    UsageError when no emulated device has the recipe's core, `core` has another architecture, or
    its file has no memory or LLVM model; EmulatorError without QEMU plug-ins; raises the errors of
    the run.
    """
    built_for = cores.find(recipe.cpu)
    if not built_for.features.keys() & core.features.keys():
        raise UsageError(f"binaries for {built_for.name} do not run on {core.name}")
    figures.memory_of(core)
    throughput.require_model(core)
    definition = find_device(emulated_device(recipe.cpu))
    recipe = dataclasses.replace(recipe, toolchain=recipe.toolchain or definition.toolchain)
    with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
        recipe = dataclasses.replace(recipe, output=Path(folder) / "build")
        loaded = load(recipe, progress)
        subject = subject_of(build(plan(loaded, progress), progress))
        source = loaded.network.program
        inputs = [source.vars[name] for name in source.inputs]
        values = oracle.samples((var.shape, NUMPY_DTYPES[var.dtype]) for var in inputs)
        expected = Golden(values, (), (), oracle="none: bench.instructions checks outputs")
        caches = [core.l1d, core.l2, *([core.l3] if core.l3 else [])]
        with definition.open() as device:
            if not isinstance(device, CacheSimulator) or not device.has_plugins():
                raise EmulatorError(
                    "this QEMU was built without TCG plug-ins, which simulate caches",
                    where=device.name,
                    hint="use Debian's qemu-user",
                )
            pushed = [device.push(file, progress) for file in expected.write_inputs(Path(folder))]
            command = runner.Command(
                runner=device.push(subject.binary, progress).path,
                model=device.push(subject.model, progress).path,
                inputs=[file.path for file in pushed],
                threads=recipe.threads,
                per_op=True,
                markers=True,
            )
            with progress.step(f"simulate the caches of {core.name}"):
                result, log = device.simulate_caches(command.argv(), caches, timeout_s=_SECONDS)
            emulator = device.describe().kernel.partition(" on ")[0]
    if error := runner.interpret(result).error:
        raise error
    costs = traffic.of_operators(log, core, progress)
    return ModeledInference(
        model=Path(subject.model).stem,
        core=core,
        precision=recipe.plan.precision,
        threads=recipe.threads,
        operators=tuple((subject.operators[index], cost) for index, cost in costs.items()),
        versions={"trimtab": __version__, "compiler": subject.compiler, "emulator": emulator},
    )
