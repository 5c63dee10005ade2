"""Committed instruction counts of the zoo's networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from lab.committed import Baseline
from lab.experiment import Experiment, FigureRow, figure, figure_row, text
from trimtab import cores
from trimtab.errors import UsageError
from trimtab.pipeline.instructions import Counts


@figure_row
class InstructionsRow(FigureRow):
    """Executed instructions of a network for a core in a precision."""

    model: str = text("model")
    cpu: str = text("cpu")
    precision: str = text("precision")
    instructions_per_inference: int = figure("inference", ",")
    load_instructions: int = figure("load", ",")
    verify_instructions: int | None = figure("check of the weights", ",", default=None)
    first_instructions: int | None = figure("first inference", ",", default=None)


INSTRUCTIONS = Experiment(
    "bench.zoo-instructions",
    "instructions",
    InstructionsRow,
    selection=("network", "cpu", "precision"),
    baseline=Baseline(
        "instructions", ("model", "cpu", "precision"), ("instructions_per_inference",)
    ),
)
NETWORKS = ("squeezenet", "mobilenet_v1", "mobilenet_v2", "googlenet", "resnet18")
RECENT_NETWORKS = (
    "detector_nanodet_m",
    "detector_picodet_s",
    "detector_yolo11n",
    "detector_yolo26n",
    "detector_yolox_nano",
    "mobilenet_v4_small",
    "mobilevit_xxs",
    "posenet",
    "recognizer_svtr",
    "vit_tiny",
)
"""Networks counted on the cores without i8mm. A `--check` of all networks names those of them whose
counts are missing; `--network NAME --update` adds them.
"""
TARGETS = (
    ("cortex-a53", "f32"),
    ("cortex-a53", "int8"),
    ("cortex-a76", "f16"),
    ("cortex-a76", "int8"),
    ("neoverse-v1", "int8"),
)
"""Core and precision of each committed count: baseline NEON, f16, dot product, i8mm."""


def select(
    networks: Sequence[str] = (), cpu: str = "", precision: str = ""
) -> list[tuple[str, str, str]]:
    """(network, core, precision) of the committed counts, or of a selection of them.

    UsageError when nothing matches, or a network is unknown.
    """
    core = cores.find(cpu).name if cpu else ""
    selection = [
        (network, *target)
        for target in TARGETS
        for network in (*NETWORKS, *(() if target[0] == "neoverse-v1" else RECENT_NETWORKS))
        if core in ("", target[0]) and precision in ("", target[1])
        if not networks or network in networks
    ]
    if not selection or {*networks} - {network for network, _, _ in selection}:
        raise UsageError(
            f"no count is committed for {' '.join(filter(None, (*networks, cpu, precision)))}",
            hint=f"networks: {', '.join((*NETWORKS, *RECENT_NETWORKS))}; cores and precisions: "
            + ", ".join(map(" ".join, TARGETS)),
        )
    return selection


def row(counts: Counts) -> InstructionsRow:
    """The row of a network, core and precision."""
    names = (field.name for field in fields(InstructionsRow))
    return InstructionsRow(*(getattr(counts, name) for name in names))
