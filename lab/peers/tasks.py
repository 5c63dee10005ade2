"""Measures trimtab beside other inference engines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lab.options import TimedOptions, names_in, thread_counts
from trimtab.cli._command import command, group, option
from trimtab.cli._options import PREFER_HELP, parse_wait

if TYPE_CHECKING:
    from pathlib import Path

NAMESPACE = "bench"

_NOT_EXPORTED = "it is not exported"


@dataclass(frozen=True, kw_only=True)
class PeersOptions:
    """Options of `bench.peers`."""

    device: str = option(
        "device on which the engines run beside trimtab, from their wheels; default: this machine"
    )
    runner: tuple[str, ...] = option(
        "program of another engine for --device: NAME=PROGRAM or NAME=PROGRAM:FILE:FILE "
        "(repeatable; docs/tasks.md#benchpeers)",
        (),
    )
    models: str = option("comma-separated zoo networks or ONNX files; default: the whole zoo")
    suite: str = option(
        "TOML list of networks, measured beside onnxruntime, OpenVINO and ncnn, or those of "
        "--device; one that fails is left out with its reason (docs/tasks.md#benchpeers)"
    )
    tables: str = option(
        "comma-separated tables of --suite; an update replaces only their figures with these "
        "thread counts; default: all"
    )
    engines: str = option("comma-separated engines to compare with; default: all that take part")
    exports: str = option("folder of the ONNX files that --suite names; default: in the cache")
    threads: str = option("comma-separated thread counts", "1")
    rounds: int = option("rounds of inferences of each engine on each model", 10)
    precision: str = option(
        "f32, or int8: QDQ files of onnxruntime; on a device also f16, beside ncnn and MNN",
        "f32",
    )
    prefer: str = option(PREFER_HELP)
    python: str = option(
        "interpreter that has the peers, default: this one; of --device, default: its python3"
    )
    pnnx: str = option(
        "with --device: the program pnnx, which converts networks for ncnn; default: trimtab's "
        "exporter"
    )
    onnx2tf: str = option(
        "with --device: the program onnx2tf (2.4 or later), which converts float32 networks for "
        "LiteRT; default: LiteRT reads .tflite files alone"
    )
    output: str = option("also write the tables to this Markdown file")
    results: TimedOptions = group(TimedOptions)


def _on_device(
    options: PeersOptions, counts: list[int], models: list[Path], missing: list[str]
) -> None:
    """Measures on a device, and prints the figures. `missing`: networks that are not exported."""
    from dataclasses import asdict

    from lab.experiment import TaskRun
    from lab.peers import on_device, report
    from lab.peers.named_runner import NamedRunner
    from trimtab import paths
    from trimtab.bench.jobs import Settings
    from trimtab.devices.control import Control
    from trimtab.pipeline.recipe import MeasurementRequest, Recipe
    from trimtab.pipeline.resolve import read_plan

    settings = Settings(control=Control(wait_s=parse_wait(options.results.wait)))
    recipes = [
        Recipe(
            model=str(model),
            plan=read_plan(
                "",
                prefer=options.prefer,
                precision="f16" if options.precision == "f16" else "",
                threads=threads,
            ),
            measurement=MeasurementRequest(options.device, settings),
        )
        for model in models
        for threads in counts
    ]
    scope = on_device.Scope(
        options.device,
        recipes,
        options.rounds,
        options.precision,
        options.python,
        runners=[NamedRunner.parse(text) for text in options.runner],
        engines=_engines(options) or on_device.ENGINES,
        converters={"ncnn": options.pnnx, "litert": options.onnx2tf},
        tolerant=bool(options.suite),
    )
    run = TaskRun(report.device_experiment(options.device, options.precision), options)
    figures, left_out = on_device.compare(scope, paths.cache() / "peers", run.progress)
    left_out += [f"{name}: {_NOT_EXPORTED}" for name in missing]
    rows = [report.DeviceRow(**asdict(figure)) for figure in figures]
    records = [row.record() for row in rows]
    run.finish(
        rows,
        report.device_page(figures, left_out),
        json={"device": options.device, "rows": records, "left_out": left_out},
        output=options.output,
        versions=dict(figure.engine.split() for figure in figures),
        notes=[f"left out: {reason}" for reason in left_out],
    )


def _engines(options: PeersOptions) -> list[str]:
    """The engines that the user names; UsageError for one that does not exist."""
    from lab.peers.worker import ENGINES
    from trimtab.errors import UsageError

    names = names_in(options.engines)
    if unknown := [name for name in names if name not in ENGINES]:
        raise UsageError(f"unknown engine {unknown[0]!r}", hint=f"use {', '.join(ENGINES)}")
    return names


@command(PeersOptions, engine=True)
def peers(options: PeersOptions) -> None:
    """Measure trimtab beside onnxruntime, OpenVINO, ncnn and MNN: time, loading, memory."""
    import sys
    from dataclasses import replace
    from pathlib import Path

    from lab.experiment import TaskRun
    from lab.machine import isa
    from lab.peers import report
    from lab.peers import suite as suites
    from lab.peers.compare import SUITE_PEERS, ComparisonScope, Installed, compare
    from lab.peers.quantized import quantized
    from trimtab import paths, zoo
    from trimtab.errors import UsageError
    from trimtab.pipeline.resolve import model_path, read_plan

    counts = thread_counts(options.threads)
    is_half = bool(options.device) and options.precision == "f16"
    if options.precision not in report.EXPERIMENTS and not is_half:
        hint = f"use {' or '.join(report.EXPERIMENTS)}"
        raise UsageError(f"unknown precision {options.precision!r}", hint=hint)
    is_quantized = options.precision == "int8"
    read_plan("", prefer=options.prefer)  # UsageError for an unknown preference
    if options.runner and not options.device:
        raise UsageError("--runner is a program of a device", hint="--device NAME")
    if options.suite and (options.models or is_quantized):
        raise UsageError("a suite is of float32 files", hint="leave out --models and int8")
    experiment = report.EXPERIMENTS.get(options.precision, report.PEERS)
    if options.suite:
        experiment = report.suite_experiment(isa(), Path(options.suite).stem)
    elif options.tables:
        raise UsageError("--tables are those of a suite", hint="--suite LIST")
    run = TaskRun(experiment, options)
    if not options.device:  # before models are made and converted
        only = _engines(options) or (SUITE_PEERS if options.suite else ())
        engines = Installed(options.python or sys.executable, quantized=is_quantized, only=only)
    missing: list[str] = []
    if options.suite:
        exports = Path(options.exports) if options.exports else paths.cache() / "networks"
        model_files, missing = suites.models(Path(options.suite), exports, names_in(options.tables))
    else:
        names = names_in(options.models) or zoo.names()
        model_files = [model_path(name, progress=run.progress) for name in names]
    if is_quantized:
        with run.progress.step("quantize", "networks") as step:
            for number, path in enumerate(model_files):
                step.update(number, len(model_files))
                model_files[number] = quantized(path, paths.cache() / "peers")
    if options.device:
        _on_device(options, counts, model_files, missing)
        return
    scope = ComparisonScope(model_files, counts, options.rounds, options.prefer)
    if options.suite:
        scope = replace(scope, loads=1, tolerant=True)
    with run.exclusive():
        comparison = compare(scope, engines, paths.cache() / "peers", run.progress)
    absent = (f"{name}: {_NOT_EXPORTED}" for name in missing)
    comparison = replace(comparison, left_out=(*comparison.left_out, *absent))
    run.finish(
        comparison.results,
        report.suite_page(comparison) if options.suite else report.page(comparison),
        json=report.facts(comparison),
        output=options.output,
        versions=comparison.versions,
        notes=[f"left out: {reason}" for reason in comparison.left_out],
    )
