"""Measures the accuracy of int8 networks against float32."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trimtab.cli._command import command, option

if TYPE_CHECKING:
    from lab.accuracy.figures import Measurement
    from trimtab.progress import Progress

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
    json: bool = option("print JSON", False)
    update: bool = option("write the figures to lab/accuracy/", False)


@command(AccuracyOptions, engine=True)
def accuracy(options: AccuracyOptions) -> None:
    """Compare int8 networks with float32: cosines beside onnxruntime, or boxes of detectors."""
    from dataclasses import asdict

    from lab import committed
    from trimtab import strict_json, tables
    from trimtab.cli._progress import shown

    progress = shown(quiet=options.json)
    measurement = _boxes(options, progress) if options.detectors else _cosines(options, progress)
    if options.json:
        print(strict_json.dumps(asdict(measurement), indent=1))
    else:
        print(tables.text(measurement.page()))
    if options.update:
        words = [f"--{name} {getattr(options, name)}" for name in ("models", "methods")]
        words += ["--detectors FILE.toml --photographs FOLDER"] * bool(options.detectors)
        words += [f'--budget "{one}"' for one in options.budget]
        words += [f"--{name} {getattr(options, name)}" for name in ("toolchain", "cpu")]
        words = [word for word in words if not word.endswith(" ")]
        command = " ".join(["./inv bench.accuracy", *words, "--update"])
        path = committed.write(measurement.name, measurement.results(command))
        progress.note(f"written: {path}")


def _boxes(options: AccuracyOptions, progress: Progress) -> Measurement:
    from pathlib import Path

    from lab.accuracy import measure
    from lab.accuracy.detectors import read
    from trimtab.errors import UsageError
    from trimtab.pipeline.resolve import find_target

    if options.models:
        raise UsageError("the file of detectors names its models", hint="leave out --models")
    cpus = [name for name in options.cpu.split(",") if name] or [""]
    request = measure.BoxRequest(
        read(Path(options.detectors)),
        Path(options.photographs),
        _methods(options),
        options.budget,
        [find_target(options.toolchain, cpu) for cpu in cpus],
    )
    return measure.boxes(request, progress)


def _cosines(options: AccuracyOptions, progress: Progress) -> Measurement:
    from lab.accuracy import measure
    from trimtab import zoo
    from trimtab.errors import UsageError

    if options.photographs or options.budget or options.toolchain or options.cpu:
        raise UsageError(
            "photographs, budgets and targets need detectors", hint="add --detectors FILE.toml"
        )
    networks = [name for name in options.models.split(",") if name] or zoo.names()
    return measure.cosines(networks, _methods(options), progress)


def _methods(options: AccuracyOptions) -> list[str]:
    from trimtab.quantization.methods import BEST, methods

    return [name for name in options.methods.split(",") if name] or [BEST, *methods()]
