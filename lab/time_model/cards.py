"""Networks on a modeled Raspberry Pi 5, beside times that Arm and ncnn publish for that board."""

from __future__ import annotations

from collections import defaultdict
from heapq import nlargest

from lab.committed import Baseline
from lab.experiment import Experiment, FigureRow, computed, figure, figure_row, text
from lab.time_model.figures import ModeledInference
from lab.time_model.simulate import model_time
from trimtab import cores
from trimtab.pipeline.recipe import Recipe
from trimtab.planner.plan_file import Plan
from trimtab.progress import Progress

CORE, THREADS = "cortex-a76", 4
GOAL = 0.9  # of the published time
TRUSTED = 0.08  # error of the model, for a peer's published time, up to which it proves something
ARM, NCNN = "ExecuTorch, Arm's card", "ncnn's list"
PUBLISHED = {
    ("squeezenet", "int8"): (2.307, ARM),
    ("mobilenet_v2", "int8"): (3.98, ARM),
    ("resnet18", "int8"): (8.751, ARM),
    ("resnet50", "int8"): (20.64, ARM),
    ("vit_tiny", "int8"): (26.40, ARM),
    ("shufflenet_v2", "f16"): (3.37, NCNN),
    ("yolo_fastest", "f16"): (5.53, NCNN),
    ("detector_nanodet_m", "f16"): (11.01, NCNN),
    ("detector_yolo26n", "f16"): (36.60, "Arm's runtime for YOLO26"),
}
"""Milliseconds and source by network and precision."""
NOTES = (
    "Arm's cards are those of huggingface.co/Arm (NAME-int8-xnnpack-executorch; that of vit_tiny "
    "is DeiT-Tiny's, which has its shape), medians of inferences alone; MobileNet v2's is of "
    "learn.arm.com, and YOLO26n's of Arm-Runtime-for-YOLO26-on-Raspberry-Pi-5.",
    "ncnn's list is benchmark/README.md of Tencent/ncnn, whose networks of floats compute in f16.",
    "Modeled times are those of four Cortex-A76 of 2.4 GHz with 11.5 GB/s; weights are random.",
)


@figure_row
class CardRow(FigureRow):
    """A network beside a published time. `uneven`: cycles of the busiest thread by a quarter of
    those of one thread; `most`: operators with the most modeled time.
    """

    network: str = text("network")
    precision: str = text("precision")
    published_ms: float = figure("published ms", ".2f")
    source: str = text("by")
    modeled_ms: float = figure("modeled ms", ".2f", digits=3)
    ratio: float = computed("ratio", ".2f", of=lambda row: row.modeled_ms / row.published_ms)
    instructions: int = figure()
    millions: float = computed("million instructions", ".1f", of=lambda row: row.instructions / 1e6)
    traffic_bytes: int = figure()
    traffic: float = computed("MB of traffic", ".1f", of=lambda row: row.traffic_bytes / 1e6)
    uneven: float = figure("busiest thread", ".2f", digits=3)
    most: str = text("most time in")


CARDS = Experiment(
    "bench.cards",
    "time_model/cards",
    CardRow,
    selection=("network",),
    baseline=Baseline("time_model/cards", ("network", "precision"), ("modeled_ms",)),
)


def row(network: str, precision: str, progress: Progress) -> tuple[CardRow, ModeledInference]:
    """Models a network with four threads and with one; errors of `model_time`."""
    core = cores.find(CORE)
    four, one = (
        model_time(
            Recipe(model=network, cpu=CORE, plan=Plan(precision=precision, threads=threads)),
            core,
            progress,
        )
        for threads in (THREADS, 1)
    )
    total, ms = four.total, four.seconds(four.total) * 1e3
    by_kind = defaultdict[str, float](float)
    for label, cost in four.operators:
        by_kind[label.split()[0]] += four.seconds(cost) * 1e3
    most = nlargest(3, by_kind, key=by_kind.__getitem__)
    names = ", ".join(f"{kind} {by_kind[kind] / ms:.0%}" for kind in most)
    published, source = PUBLISHED[network, precision]
    uneven = THREADS * total.cycles / one.total.cycles
    counts = total.instructions, total.bytes, uneven, names
    return CardRow(network, precision, published, source, ms, *counts), four
