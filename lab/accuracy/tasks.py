"""Measures the accuracy of int8 networks against float32."""

from __future__ import annotations

from invoke.context import Context

from trimtab.cli._command import task
from trimtab.cli._engine import needs_engine

NAMESPACE = "bench"


@task(
    iterable=["budget"],
    help={
        "models": "comma-separated zoo networks or ONNX files; default: the whole zoo",
        "methods": "comma-separated calibration methods; default: all",
        "detectors": "TOML file of detectors to compare the boxes of (docs/precision.md)",
        "photographs": "folder of photographs for the detectors: half calibrate, half test",
        "budget": "also detectors in mixed precision with this budget (repeatable)",
        "toolchain": "toolchain of the target of mixed precision; default: this machine",
        "cpu": "comma-separated cores of that target",
        "json": "print JSON",
        "update": "write the figures to lab/accuracy/",
    },
)
@needs_engine
def accuracy(
    _: Context,
    budget: list[str],
    models: str = "",
    methods: str = "",
    detectors: str = "",
    photographs: str = "",
    toolchain: str = "",
    cpu: str = "",
    json: bool = False,
    update: bool = False,
) -> None:
    """Compare int8 networks with float32: cosines beside onnxruntime, or boxes of detectors."""
    from dataclasses import asdict
    from json import dumps
    from pathlib import Path

    from lab import committed
    from lab.accuracy import measure
    from lab.accuracy.detectors import read
    from trimtab import tables, zoo
    from trimtab.cli._progress import shown
    from trimtab.errors import UsageError
    from trimtab.pipeline.resolve import find_target
    from trimtab.quantization.methods import BEST
    from trimtab.quantization.methods import methods as all_methods

    if not detectors and (photographs or budget or toolchain or cpu):
        raise UsageError(
            "photographs, budgets and targets need detectors", hint="add --detectors FILE.toml"
        )
    if detectors and models:
        raise UsageError("the file of detectors names its models", hint="leave out --models")
    names = [name for name in methods.split(",") if name] or [BEST, *all_methods()]
    progress = shown(quiet=json)
    if detectors:
        targets = [
            find_target(toolchain, name) for name in [c for c in cpu.split(",") if c] or [""]
        ]
        request = measure.BoxRequest(
            read(Path(detectors)), Path(photographs), names, budget, targets
        )
        measurement = measure.boxes(request, progress)
    else:
        networks = [name for name in models.split(",") if name] or zoo.names()
        measurement = measure.cosines(networks, names, progress)
    if json:
        print(dumps(asdict(measurement), indent=1))
    else:
        print(tables.text(measurement.page()))
    if update:
        words = [f"--models {models}"] * bool(models) + [f"--methods {methods}"] * bool(methods)
        words += ["--detectors FILE.toml --photographs FOLDER"] * bool(detectors)
        words += [f'--budget "{one}"' for one in budget]
        words += [f"--toolchain {toolchain}"] * bool(toolchain) + [f"--cpu {cpu}"] * bool(cpu)
        command = " ".join(["./inv bench.accuracy", *words, "--update"])
        path = committed.write(measurement.name, measurement.results(command))
        progress.note(f"written: {path}")
