"""How near int8 networks are to their float32 twins."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._engine import needs_engine

NAMESPACE = "bench"


@task(
    iterable=["budget"],
    help={
        "models": "zoo networks or ONNX files, with commas between them; default: all of the zoo",
        "methods": "of calibration, with commas between them; default: all",
        "detectors": "a TOML file (docs/precision.md): boxes of detectors are counted instead",
        "photographs": "folder of what the detectors see: half to calibrate with, half to count on",
        "budget": "of mixed precision, for the detectors, too (repeatable)",
        "toolchain": "what mixed precision is searched for; default: this machine",
        "cpu": "cores that it is searched for, with commas between them",
        "json": "print JSON",
        "update": "commit to the figures: accuracy.json, boxes.json or boxes_mixed.json in bench/",
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
    """Compare int8 networks with float32: beside onnxruntime's quantizer, or boxes of detectors."""
    from dataclasses import asdict
    from json import dumps
    from pathlib import Path

    from lab import committed
    from lab.accuracy import measure as workflow
    from lab.accuracy.detectors import read
    from trimtab import tables, zoo
    from trimtab.cli._progress import shown
    from trimtab.errors import UsageError
    from trimtab.pipeline.resolve import find_target
    from trimtab.quantization.methods import BEST
    from trimtab.quantization.methods import methods as all_methods

    if not detectors and (photographs or budget or toolchain or cpu):
        raise UsageError(
            "photographs, budgets and targets are for detectors", hint="--detectors FILE.toml"
        )
    if detectors and models:
        raise UsageError("detectors have models of their own", hint="leave out --models")
    ways = [name for name in methods.split(",") if name] or [BEST, *all_methods()]
    progress = shown(quiet=json)
    if detectors:
        targets = [
            find_target(toolchain, name) for name in [c for c in cpu.split(",") if c] or [""]
        ]
        work = workflow.Boxes(read(Path(detectors)), Path(photographs), ways, budget, targets)
        measured = workflow.boxes(work, progress)
    else:
        names = [name for name in models.split(",") if name] or zoo.names()
        measured = workflow.cosines(names, ways, progress)
    if json:
        print(dumps(asdict(measured), indent=1))
    else:
        print(tables.text(measured.page()))
    if update:
        words = [f"--models {models}"] * bool(models) + [f"--methods {methods}"] * bool(methods)
        words += ["--detectors FILE.toml --photographs FOLDER"] * bool(detectors)
        words += [f'--budget "{one}"' for one in budget]
        words += [f"--toolchain {toolchain}"] * bool(toolchain) + [f"--cpu {cpu}"] * bool(cpu)
        command = " ".join(["./inv bench.accuracy", *words, "--update"])
        path = committed.write(measured.name, measured.results(command))
        progress.note(f"written: {path}")
