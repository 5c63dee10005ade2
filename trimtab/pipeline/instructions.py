"""Counts the executed instructions of a model's binary under QEMU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from trimtab import __version__, cores, strict_json
from trimtab.bench.jobs import Settings
from trimtab.devices import list_devices
from trimtab.errors import EmulatorError, UsageError
from trimtab.pipeline.measured import bench
from trimtab.pipeline.recipe import MeasurementRequest, Recipe
from trimtab.progress import SILENT, Progress
from trimtab.results import records, summary
from trimtab.results.summary import Summary, Unit
from trimtab.tables import Column, Table, number

_TIMEOUT_S = 3600.0  # counting takes some hundred times as long as running


@dataclass(frozen=True)
class Counts:
    """Executed instructions of a model's binary for one core, with one thread.

    `precision`: of the plan; `operators`: label and instructions of each, in the order of the
    network; `versions`: of the programs that the counts depend on.
    """

    model: str
    cpu: str
    precision: str
    device: str
    instructions_per_inference: int
    load_instructions: int
    verify_instructions: int
    first_instructions: int
    operators: tuple[tuple[str, int], ...]
    versions: Mapping[str, str]

    @classmethod
    def of(cls, run: Summary, precision: str) -> Counts:
        """The counts of a run that measured each operator; EmulatorError when it has no counts."""
        header = run.header
        counted = {f.key: int(f.value) for f in run.figures if f.unit is Unit.INSTRUCTIONS}
        if "latency_instructions" not in counted:
            raise EmulatorError(
                "this QEMU was built without TCG plug-ins, which count instructions",
                where=header.device.name,
                hint="use Debian's qemu-user, or bench with --device board, which counts itself",
            )
        return cls(
            model=Path(header.model.name).stem,
            cpu=header.cpu,
            precision=precision,
            device=header.device.name,
            instructions_per_inference=counted["latency_instructions"],
            load_instructions=counted["load_instructions"],
            verify_instructions=counted["verify_instructions"],
            first_instructions=counted["first_instructions"],
            operators=tuple((op.label, int(op.instructions or 0)) for op in run.ops),
            versions={
                "trimtab": __version__,
                "compiler": header.compiler,
                "emulator": header.device.kernel.partition(" on ")[0],
            },
        )

    def to_json(self) -> str:
        """An object of the fields; the operators are objects with `label` and `instructions`."""
        operators = [{"label": label, "instructions": n} for label, n in self.operators]
        return strict_json.dumps({**asdict(self), "operators": operators}, indent=1)

    def table(self) -> Table:
        """The figures and the operators."""
        rows = [
            ("inference", self.instructions_per_inference),
            ("load", self.load_instructions),
            ("check of the weights", self.verify_instructions),
            ("first inference", self.first_instructions),
            *((f"  {label}", n) for label, n in self.operators),
        ]
        head = f"{self.model}, {self.cpu}, {self.precision}"
        return Table([Column(head), number("instructions", ",")], rows)


def count_instructions(recipe: Recipe, folder: Path, progress: Progress = SILENT) -> Counts:
    """Builds a model for the recipe's core and counts the instructions of its binary under QEMU.

    The run is recorded in `folder`. UsageError when no emulated device has that core; errors of the
    run are raised.
    """
    settings = Settings(per_op=True, timeout_s=_TIMEOUT_S)
    measurement = MeasurementRequest(emulated_device(recipe.cpu), settings, folder)
    outcome = bench(replace(recipe, measurement=measurement), progress).outcome
    if outcome.error is not None:
        raise outcome.error
    run = summary.summarize(records.read(outcome.path))
    return Counts.of(run, recipe.plan.precision)


def emulated_device(cpu: str) -> str:
    """The name of the device that emulates the core `cpu`; UsageError without one."""
    core = cores.find(cpu).name
    devices = {d.cpu: d.name for d in list_devices() if d.transport == "qemu_user" and d.cpu}
    if core not in devices:
        raise UsageError(
            f"no emulated device has the core {core!r}", hint=f"use one of {', '.join(devices)}"
        )
    return devices[core]
