"""Bytes of model files by the stored form of weights, beside ncnn's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import mean

from lab.committed import Baseline
from lab.experiment import Experiment, FigureRow, computed, figure, figure_row, text
from trimtab import modelfile, passes, zoo
from trimtab.accuracy import parse_budget
from trimtab.passes.fuse_qdq_conv import is_weighted
from trimtab.pipeline.resolve import load_program
from trimtab.pipeline.variants import ncnn_bytes
from trimtab.planner import planner
from trimtab.planner.plan_file import WEIGHTS_AUTO, Plan
from trimtab.program import Program
from trimtab.progress import Progress
from trimtab.quantization import Samples, compare, noise, weights_search
from trimtab.quantization.stored_rounding import with_weights
from trimtab.target import Target

LARGEST = "resnet50"  # of the zoo
NETWORKS = tuple(name for name in zoo.names() if name != LARGEST)
MOST_SEARCHED = 60  # operators with weights: a search plans the network for each of them
BUDGET = "cosine >= 0.999"
SAMPLES = 5  # of seeded noise: four round weights, the fifth measures the budget
CORE = "cortex-a53"


@figure_row
class StoredWeightsRow(FigureRow):
    """A network's .ttm by the form of its weights; `half_cosine`: of the outputs with f16, beside
    float32; `auto_bytes` is of `--weights auto`, `size_bytes` with `--prefer size`, both None for
    networks with many operators.
    """

    network: str = text("network")
    float_bytes: int = figure("f32, default", ",")
    half_bytes: int = figure("f16", ",")
    ncnn_bytes: int = figure("ncnn's .bin", ",")
    int8_bytes: int = figure("int8", ",")
    half_cosine: float = figure("cosine, f16", ".7f", digits=8)
    auto_bytes: int | None = figure("auto", ",", absent="-", default=None)
    size_bytes: int | None = figure("auto, size", ",", absent="-", default=None)
    auto_share: float | None = computed(
        "auto : f32", ".3f", absent="-", of=lambda row: _ratio(row.auto_bytes, row.float_bytes)
    )
    size_share: float | None = computed(
        "size : f32", ".3f", absent="-", of=lambda row: _ratio(row.size_bytes, row.float_bytes)
    )
    size_to_int8: float | None = computed(
        "size : int8", ".3f", absent="-", of=lambda row: _ratio(row.size_bytes, row.int8_bytes)
    )


def _ratio(bytes: int | None, others: int) -> float | None:
    return bytes and bytes / others


STORED = Experiment(
    "bench.stored",
    "stored_weights",
    StoredWeightsRow,
    packages=("numpy",),
    selection=("network",),
    baseline=Baseline("stored_weights", ("network",), ("float_bytes", "half_bytes", "int8_bytes")),
)


def measure(networks: Sequence[str], progress: Progress) -> Iterator[StoredWeightsRow]:
    """A row for each network of the zoo, planned for `CORE`; the searches keep `BUDGET`."""
    with progress.step("store weights", "networks") as step:
        for done, name in enumerate(networks):
            step.update(done, len(networks), name)
            program = load_program(name)
            samples = noise(program, SAMPLES)
            exact, half, int8 = (Plan(weights_type=form) for form in ("f32", "f16", "int8"))
            optimized = passes.optimize(program)
            is_searched = sum(map(is_weighted, optimized.ops)) <= MOST_SEARCHED
            yield StoredWeightsRow(
                name,
                float_bytes=_bytes(program, exact),
                half_bytes=_bytes(program, half),
                ncnn_bytes=ncnn_bytes(optimized),
                int8_bytes=_bytes(program, int8),
                half_cosine=compare(program, program, samples, plan=half.numbers).cosine,
                auto_bytes=_searched(program, samples, "balanced") if is_searched else None,
                size_bytes=_searched(program, samples, "size") if is_searched else None,
            )


def _searched(program: Program, samples: Samples, prefer: str) -> int:
    """The bytes of the model file with `--weights auto`."""
    plan = Plan(prefer=prefer)
    chosen = weights_search.search(program, plan, samples, parse_budget(BUDGET))
    rounded = with_weights(program, chosen.rounded)
    return _bytes(rounded, replace(plan, weights_type=WEIGHTS_AUTO, stored=chosen.forms))


def _bytes(program: Program, plan: Plan) -> int:
    target = Target.of("aarch64", CORE)
    planned = planner.plan(passes.optimize(program), target, plan)
    return int(modelfile.encode(planned, consume=True, packed=True).size)


def summary(rows: Sequence[StoredWeightsRow]) -> list[str]:
    """The means beside f32 and int8, and how many files are above ncnn's."""
    searched = [row for row in rows if row.auto_bytes]
    auto, size, to_int8 = (
        f"{mean(getattr(row, name) for row in searched):.3f}"
        for name in ("auto_share", "size_share", "size_to_int8")
    )
    worst = min(rows, key=lambda row: row.half_cosine)
    half = max(row.half_bytes / row.ncnn_bytes for row in rows)
    return [
        f"In the mean of {len(searched)} networks of at most {MOST_SEARCHED} operators with "
        f"weights, `--weights auto` takes {auto} of the bytes of f32, with `--prefer size` {size}, "
        f"which are {to_int8} of those of int8; both keep {BUDGET} on seeded noise.",
        f"Files with f16 weights take at most {half:.3f} of ncnn's .bin, whose size is derived: "
        "two bytes for each weight, four for each bias, without the .param.",
        f"Their outputs on noise have a cosine of at least {worst.half_cosine:.7f} with those of "
        f"float32 ({worst.network}).",
    ]
