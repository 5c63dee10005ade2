"""Executed instructions of a model on an emulated core."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from trimtab import cores
from trimtab.bench import results as records
from trimtab.bench import summary
from trimtab.bench.protocol import Progress, Settings
from trimtab.devices import list_devices
from trimtab.errors import EmulatorError, UsageError
from trimtab.planner.choices import Plan
from trimtab.tables import Column, Table, number
from trimtab.workflow.bench import BenchRequest, Shapes, bench


@dataclass(frozen=True)
class Counts:
    """Executed instructions of a model's binary for one core, one thread."""

    model: str
    cpu: str
    device: str
    instructions_per_inference: int
    load_instructions: int
    first_instructions: int
    operators: tuple[tuple[str, int], ...]  # in the order of the network

    def to_json(self) -> str:
        """An object of the fields; the operators are objects with `label` and `instructions`."""
        operators = [{"label": label, "instructions": n} for label, n in self.operators]
        return json.dumps({**asdict(self), "operators": operators}, indent=1)

    def as_table(self) -> Table:
        """The figures and the operators."""
        rows = [
            ("inference", self.instructions_per_inference),
            ("load", self.load_instructions),
            ("first inference", self.first_instructions),
            *((f"  {label}", n) for label, n in self.operators),
        ]
        return Table([Column(f"{self.model}, {self.cpu}"), number("instructions", ",")], rows)


def count_instructions(
    model: str,
    cpu: str,
    shapes: Shapes,
    folder: Path,
    progress: Progress,
    plan: Plan | None = None,
) -> Counts:
    """Build `model` for the core `cpu` and count what it executes, under QEMU.

    UsageError when no emulated device has that core; raises whatever ends the run, too.
    """
    cpu = cores.find(cpu).name
    emulated = {d.cpu: d.name for d in list_devices() if d.transport == "qemu_user" and d.cpu}
    if cpu not in emulated:
        raise UsageError(
            f"no emulated device is for the core {cpu!r}", hint=f"known: {', '.join(emulated)}"
        )
    request = BenchRequest(
        model=model,
        device=emulated[cpu],
        shapes=shapes,
        plan=plan,
        settings=Settings(per_op=True),
    )
    outcome = bench(request, folder, progress)
    if outcome.error is not None:
        raise outcome.error
    run = summary.summarize(records.read(outcome.path))
    counted = {f.key: int(f.value) for f in run.figures if f.unit is summary.Unit.INSTRUCTIONS}
    if "latency_instructions" not in counted:
        raise EmulatorError(
            "this QEMU was built without TCG plug-ins, which count instructions",
            where=emulated[cpu],
            hint="use Debian's qemu-user, or bench with --device board, which counts itself",
        )
    return Counts(
        model=Path(model).stem,
        cpu=cpu,
        device=emulated[cpu],
        instructions_per_inference=counted["latency_instructions"],
        load_instructions=counted["load_instructions"],
        first_instructions=counted["first_instructions"],
        operators=tuple((op.label, int(op.instructions or 0)) for op in run.ops),
    )
