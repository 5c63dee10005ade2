"""Executed instructions of a model's binary, as a run under an emulator counted them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from trimtab import __version__, cores
from trimtab.errors import EmulatorError, UsageError
from trimtab.instruments.committed import Baseline, Results
from trimtab.results.summary import Summary, Unit
from trimtab.tables import Column, Table, number

BASELINE = Baseline("instructions", ("model", "cpu", "precision"), ("instructions_per_inference",))
NETWORKS = ("squeezenet", "mobilenet_v1", "mobilenet_v2", "googlenet", "resnet18")  # committed
COMMITTED = (
    ("cortex-a53", "f32"),
    ("cortex-a53", "int8"),
    ("cortex-a76", "f16"),
    ("cortex-a76", "int8"),
    ("neoverse-v1", "int8"),
)
"""Core and precision of what is committed of each network: base, f16, dot products, i8mm."""


def of(cpu: str = "", precision: str = "") -> list[tuple[str, str, str]]:
    """(network, core, precision) of what is committed, or of what is with that core or precision;
    UsageError where nothing is.
    """
    core = cores.find(cpu).name if cpu else ""
    chosen = [row for row in COMMITTED if core in ("", row[0]) and precision in ("", row[1])]
    if not chosen:
        raise UsageError(
            f"no count is committed for {' '.join(filter(None, (cpu, precision)))}",
            hint="name a --model, or one of " + ", ".join(map(" ".join, COMMITTED)),
        )
    return [(network, *row) for row in chosen for network in NETWORKS]


@dataclass(frozen=True)
class Counts:
    """Executed instructions of a model's binary for one core, one thread. `precision`: the one that
    was asked for. `operators`: label and instructions of each, in the order of the network.
    `versions`: of the programs that they depend on.
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
            precision=precision,
            device=str(header.device["name"]),
            instructions_per_inference=counted["latency_instructions"],
            load_instructions=counted["load_instructions"],
            verify_instructions=counted["verify_instructions"],
            first_instructions=counted["first_instructions"],
            operators=tuple((op.label, int(op.instructions or 0)) for op in run.ops),
            versions={
                "trimtab": __version__,
                "compiler": header.compiler,
                "emulator": str(header.device["kernel"]).partition(" on ")[0],
            },
        )

    def to_json(self) -> str:
        """An object of the fields; the operators are objects with `label` and `instructions`."""
        operators = [{"label": label, "instructions": n} for label, n in self.operators]
        return json.dumps({**asdict(self), "operators": operators}, indent=1)

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


def totals(counts: Sequence[Counts]) -> Table:
    """A row per network, without operators; its records are what is committed."""
    names = {
        "instructions_per_inference": "inference",
        "load_instructions": "load",
        "verify_instructions": "check of the weights",
        "first_instructions": "first inference",
    }
    figures = [number(name, ",", key=key) for key, name in names.items()]
    rows = [(c.model, c.cpu, c.precision, *(getattr(c, key) for key in names)) for c in counts]
    return Table([Column("model"), Column("cpu"), Column("precision"), *figures], rows)


def to_results(counts: Sequence[Counts], command: str) -> Results:
    """What is committed."""
    versions = {name: version for c in counts for name, version in c.versions.items()}
    return Results(command=command, versions=versions, rows=totals(counts).records())
