"""Cases: one operator of a network with the operands that a device computed, as a folder that can
be repeated alone.

    case.json       the device, the toolchain and core, and the operator in words
    network.ttm     the operator, as operators before planning
    plan.toml       its kernels and block sizes in the network's plan
    inputs.npz      operands by position
    expected.npz    results of the portable kernels of the machine that wrote the case
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import array_files, files, modelfile, strict_json
from trimtab.build.derived_profile import profile_of
from trimtab.debug.findings import agreement, simulated_rounding
from trimtab.debug.regions import Region
from trimtab.devices import DeviceDefinition
from trimtab.errors import ModelFileError, PlanError, ProfileError
from trimtab.paths import PROGRAM
from trimtab.pipeline import delivery
from trimtab.pipeline.recipe import Recipe
from trimtab.pipeline.remote import remote_runner
from trimtab.pipeline.resolve import find_target
from trimtab.planner import planner
from trimtab.planner.plan_file import Plan, operator_keys
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.target import Target

Array = NDArray[Any]
FORMAT = 1
_FACTS, _NETWORK, _PLAN, _INPUTS, _EXPECTED = (
    *("case.json", "network.ttm", "plan.toml", "inputs.npz", "expected.npz"),
)
_HINT = f"{PROGRAM} debug --model NET --device NAME --case FOLDER writes one"


@dataclass(frozen=True)
class SavedCase:
    """One operator. `part`: what computes it, before planning; `plan`: its kernels; `inputs` and
    `expected`: its operands and right results, in order; `operator`: it in words.
    """

    part: Program
    plan: Plan
    inputs: Sequence[Array]
    expected: Sequence[Array]
    operator: str
    device: str
    toolchain: str
    cpu: str
    threads: int = 1

    @staticmethod
    def of(
        region: Region,
        values: Mapping[str, Array],
        expected: Sequence[Array],
        plan: Plan,
        recipe: Recipe,
        operator: str,
    ) -> SavedCase:
        """The case of a region of a network whose tensors have these values."""
        keys = {*operator_keys(region.program)}
        own = {key: choice for key, choice in plan.operators.items() if key in keys}
        return SavedCase(
            region.program,
            Plan(operators=own, weights_type=plan.weights_type, stored=plan.stored),
            [values[name] for name in region.inputs],
            expected,
            operator,
            recipe.measurement.device if recipe.measurement else "local",
            recipe.toolchain or "host",
            recipe.cpu,
            recipe.threads,
        )

    def write(self, folder: Path) -> None:
        """Writes the case; the folder is complete or as it was."""
        facts = {"format": FORMAT, "operator": self.operator, "device": self.device}
        facts |= {"toolchain": self.toolchain, "cpu": self.cpu, "threads": self.threads}
        with files.replacing_folder(folder) as fresh:
            self.part.save(fresh / _NETWORK)
            files.write_text(fresh / _PLAN, self.plan.to_toml(self.operator))
            files.write_bytes(fresh / _INPUTS, _archive(self.inputs))
            files.write_bytes(fresh / _EXPECTED, _archive(self.expected))
            files.write_text(fresh / _FACTS, strict_json.dumps(facts, indent=1) + "\n")

    @staticmethod
    def read(folder: Path) -> SavedCase:
        """Reads a case; ModelFileError if it is none or damaged."""
        try:
            facts = strict_json.loads((folder / _FACTS).read_text(encoding="utf-8"))
            if facts["format"] != FORMAT:
                raise ValueError(f"format {facts['format']!r}")
            operator, device, toolchain, cpu = (
                str(facts[key]) for key in ("operator", "device", "toolchain", "cpu")
            )
            threads = int(facts["threads"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelFileError(
                f"it is not a case of an operator: {error}", where=str(folder), hint=_HINT
            ) from error
        part = modelfile.read(folder / _NETWORK)
        inputs, expected = (_read(folder / name) for name in (_INPUTS, _EXPECTED))
        for arrays, ends in ((inputs, part.inputs), (expected, part.outputs)):
            if [a.shape for a in arrays] != [part.vars[name].shape for name in ends]:
                what = "its arrays do not fit its operator"
                raise ModelFileError(what, where=str(folder), hint=_HINT)
        plan = Plan.read(folder / _PLAN)
        return SavedCase(part, plan, inputs, expected, operator, device, toolchain, cpu, threads)

    def repeat(
        self, definition: DeviceDefinition, progress: Progress = SILENT, *, portable: bool = False
    ) -> str:
        """Builds a binary for the operator, runs it on the device, and returns why a result is
        beyond its bound; "" if none is. `portable`: with the portable kernels.
        """
        recipe = Recipe(
            toolchain=self.toolchain if definition.name == self.device else definition.toolchain,
            cpu=self.cpu if definition.name == self.device else definition.cpu or "",
        )
        target = replace(find_target(recipe.toolchain, recipe.cpu), threads=self.threads)
        if portable:
            target = replace(Target.portable(target.arch), threads=self.threads)
        planned = self._planned(target, portable=portable)
        with tempfile.TemporaryDirectory(prefix="trimtab-") as name:
            folder = Path(name)
            built = delivery.deliver(
                recipe, profile_of(planned), folder / "build", planned, folder / "m.ttm", progress
            )
            inputs = dict(zip(planned.inputs, self.inputs, strict=True))
            with remote_runner(definition, built.runner, "debug") as runner:
                results = runner.compute(planned, inputs, folder, self.threads)
        part = Region(self.part, (*self.part.inputs,), (*self.part.outputs,))
        values = dict(zip(self.part.inputs, self.inputs, strict=True))
        here = Target.portable(Target.host().arch)
        rounding = simulated_rounding(part, values, here, self.plan)
        for name, right in zip(planned.outputs, self.expected, strict=True):
            if wrong := agreement(name, right, results[name], rounding.get(name)).wrong:
                return wrong
        return ""

    def _planned(self, target: Target, *, portable: bool) -> Program:
        """The operator with the kernels of the network's plan, or with the portable ones."""
        if not portable:
            try:
                return planner.plan(self.part, target, self.plan)
            except (PlanError, ProfileError):  # of another device
                pass
        return planner.plan(self.part, target)


def _archive(arrays: Sequence[Array]) -> bytes:
    buffer = io.BytesIO()
    named: dict[str, Any] = {f"a{i:03}": array for i, array in enumerate(arrays)}
    np.savez_compressed(buffer, **named)
    return buffer.getvalue()


def _read(path: Path) -> list[Array]:
    return [*array_files.read_archive(path, error=ModelFileError, hint=_HINT).values()]
