"""Measures the accuracy of int8 networks against float32."""

from __future__ import annotations

from dataclasses import dataclass

from lab.options import OutputOptions, names_in
from trimtab.cli._command import command, group, option

NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class AccuracyOptions:
    """Options of `bench.accuracy`."""

    models: str = option("comma-separated zoo networks or ONNX files; default: the whole zoo")
    methods: str = option("comma-separated calibration methods; default: all")
    detectors: str = option("TOML file of detectors to compare the boxes of (docs/precision.md)")
    photographs: str = option("folder of photographs for the detectors: half calibrate, half test")
    budget: tuple[str, ...] = option(
        "also detectors in mixed precision with this budget (repeatable)", ()
    )
    toolchain: str = option("toolchain of the target of mixed precision; default: this machine")
    cpu: str = option("comma-separated cores of that target")
    results: OutputOptions = group(OutputOptions)


@command(AccuracyOptions, engine=True)
def accuracy(options: AccuracyOptions) -> None:
    """Compare int8 networks with float32: cosines beside onnxruntime, or boxes of detectors."""
    if options.detectors:
        _boxes(options)
    else:
        _cosines(options)


def _boxes(options: AccuracyOptions) -> None:
    from pathlib import Path

    from lab.accuracy import figures, measure
    from lab.accuracy.detectors import read
    from lab.experiment import TaskRun
    from trimtab.errors import UsageError
    from trimtab.pipeline.resolve import find_target

    if options.models:
        raise UsageError("the file of detectors names its models", hint="leave out --models")
    run = TaskRun(figures.MIXED if options.budget else figures.BOXES, options)
    cpus = names_in(options.cpu) or [""]
    request = measure.BoxRequest(
        read(Path(options.detectors)),
        Path(options.photographs),
        _methods(options),
        options.budget,
        [find_target(options.toolchain, cpu) for cpu in cpus],
    )
    rows, notes = measure.boxes(request, run.progress)
    run.finish(rows, notes=notes)


def _cosines(options: AccuracyOptions) -> None:
    from lab.accuracy import figures, measure
    from lab.experiment import TaskRun
    from trimtab import zoo
    from trimtab.errors import UsageError

    if options.photographs or options.budget or options.toolchain or options.cpu:
        raise UsageError(
            "photographs, budgets and targets need detectors", hint="add --detectors FILE.toml"
        )
    run = TaskRun(figures.COSINES, options)
    networks = names_in(options.models) or zoo.names()
    rows = measure.cosines(networks, _methods(options), run.progress)
    run.finish(rows, figures.cosine_page(rows))


def _methods(options: AccuracyOptions) -> list[str]:
    from trimtab.quantization.methods import BEST, methods

    return names_in(options.methods) or [BEST, *methods()]
