"""Executed instructions of a model's binary, as a run under an emulator counted them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from trimtab.bench.summary import Summary, Unit
from trimtab.errors import EmulatorError
from trimtab.tables import Column, Table, number


@dataclass(frozen=True)
class Counts:
    """Executed instructions of a model's binary for one core, one thread. `operators`: label and
    instructions of each, in the order of the network.
    """

    model: str
    cpu: str
    device: str
    instructions_per_inference: int
    load_instructions: int
    first_instructions: int
    operators: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, run: Summary) -> Counts:
        """The counts of a run that was measured per operator; EmulatorError when it has none."""
        header = run.header
        counted = {f.key: int(f.value) for f in run.figures if f.unit is Unit.INSTRUCTIONS}
        if "latency_instructions" not in counted:
            raise EmulatorError(
                "this QEMU was built without TCG plug-ins, which count instructions",
                where=str(header.device["name"]),
                hint="use Debian's qemu-user, or bench with --device board, which counts itself",
            )
        return cls(
            model=Path(header.model.name).stem,
            cpu=header.cpu,
            device=str(header.device["name"]),
            instructions_per_inference=counted["latency_instructions"],
            load_instructions=counted["load_instructions"],
            first_instructions=counted["first_instructions"],
            operators=tuple((op.label, int(op.instructions or 0)) for op in run.ops),
        )

    @property
    def figures(self) -> dict[str, float]:
        """For a baseline."""
        return {f"{self.model} {self.cpu}": float(self.instructions_per_inference)}

    def to_json(self) -> str:
        """An object of the fields; the operators are objects with `label` and `instructions`."""
        operators = [{"label": label, "instructions": n} for label, n in self.operators]
        return json.dumps({**asdict(self), "operators": operators}, indent=1)

    def table(self) -> Table:
        """The figures and the operators."""
        rows = [
            ("inference", self.instructions_per_inference),
            ("load", self.load_instructions),
            ("first inference", self.first_instructions),
            *((f"  {label}", n) for label, n in self.operators),
        ]
        return Table([Column(f"{self.model}, {self.cpu}"), number("instructions", ",")], rows)
