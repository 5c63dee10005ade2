"""Measures trimtab beside other inference engines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trimtab.cli._command import command, option
from trimtab.cli._options import PREFER_HELP, WAIT_HELP, parse_wait

if TYPE_CHECKING:
    from pathlib import Path

NAMESPACE = "bench"

_NOT_EXPORTED = "it is not exported"


def _counts(text: str) -> list[int]:
    """The thread counts of a command line; UsageError when malformed."""
    from trimtab.errors import UsageError

    counts = [int(word) for word in text.split(",") if word.isdecimal()]
    if not counts or 0 in counts or len(counts) != text.count(",") + 1:
        raise UsageError(f"bad thread counts {text!r}", hint="write them as 1,2")
    return counts


@dataclass(frozen=True, kw_only=True)
class PeersOptions:
    """Options of `bench.peers`."""

    device: str = option(
        "device on which onnxruntime, ncnn and LiteRT run beside trimtab; default: this machine"
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
    engines: str = option("comma-separated engines to compare with; default: all that take part")
    exports: str = option("folder of the ONNX files that --suite names; default: in the cache")
    threads: str = option("comma-separated thread counts", "1")
    rounds: int = option("rounds of inferences of each engine on each model", 10)
    precision: str = option(
        "f32, or int8: QDQ files quantized by onnxruntime; on a device also f16, beside ncnn", "f32"
    )
    prefer: str = option(PREFER_HELP)
    python: str = option(
        "interpreter that has the peers, default: this one; of --device, default: its python3"
    )
    pnnx: str = option(
        "with --device: the program pnnx, which converts networks for ncnn; default: trimtab's "
        "exporter"
    )
    wait: str = option(WAIT_HELP, bare=True)
    json: bool = option("print JSON", False)
    output: str = option("also write the tables to this Markdown file")
    update: bool = option("write the figures to lab/peers/", False)


def _on_device(
    options: PeersOptions, counts: list[int], models: list[Path], missing: list[str]
) -> None:
    """Measures on a device, and prints the figures. `missing`: networks that are not exported."""
    from dataclasses import asdict
    from pathlib import Path

    from lab import committed
    from lab.peers import on_device, report
    from lab.peers.named_runner import NamedRunner
    from trimtab import files, paths, strict_json, tables
    from trimtab.bench.jobs import Settings
    from trimtab.cli._progress import shown
    from trimtab.devices.control import Control
    from trimtab.pipeline.recipe import MeasurementRequest, Recipe
    from trimtab.pipeline.resolve import read_plan

    settings = Settings(control=Control(wait_s=parse_wait(options.wait)))
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
        pnnx=options.pnnx,
        tolerant=bool(options.suite),
    )
    progress = shown(quiet=options.json)
    figures, left_out = on_device.compare(scope, paths.cache() / "peers", progress)
    left_out += [f"{name}: {_NOT_EXPORTED}" for name in missing]
    page = report.device_page(figures, left_out)
    if options.json:
        rows = [asdict(figure) for figure in figures]
        print(strict_json.dumps({"device": options.device, "rows": rows, "left_out": left_out}))
    else:
        print(tables.text(page))
    if options.output:
        files.write_text(Path(options.output), tables.markdown(page) + "\n")
    if options.update:
        baseline = report.device_baseline(options.device, options.precision)
        results = report.device_results(figures, left_out, _repeated(options))
        if options.models:
            results = baseline.merged(results)
        progress.note(f"written: {committed.write(baseline.name, results)}")


def _engines(options: PeersOptions) -> list[str]:
    """The engines that the user names; UsageError for one that does not exist."""
    from lab.peers.worker import ENGINES
    from trimtab.errors import UsageError

    names = [name for name in options.engines.split(",") if name]
    if unknown := [name for name in names if name not in ENGINES]:
        raise UsageError(f"unknown engine {unknown[0]!r}", hint=f"use {', '.join(ENGINES)}")
    return names


def _repeated(options: PeersOptions) -> str:
    """The command that repeats a measurement."""
    from lab.peers.process import isa

    words = [f"TRIMTAB_ISA={isa()}"] * bool(isa() and not options.device)
    words += ["./inv bench.peers"]
    words += [f"--device {options.device}"] * bool(options.device)
    words += [f"--threads {options.threads} --rounds {options.rounds}"]
    words += [f"--models {options.models}"] * bool(options.models)
    words += [f"--suite {options.suite} --exports EXPORTS"] * bool(options.suite)
    words += [f"--engines {options.engines}"] * bool(options.engines)
    words += [f"--precision {options.precision}"] * (options.precision != "f32")
    words += [f"--prefer {options.prefer}"] * bool(options.prefer)
    words += ["--pnnx PEERS/bin/pnnx"] * bool(options.pnnx)
    words += ["--python PEERS/bin/python"] * bool(options.python)
    return " ".join([*words, "--update"])


def _check_suite(options: PeersOptions) -> None:
    """UsageError for options that a suite excludes."""
    from trimtab.errors import UsageError

    if options.models or options.precision == "int8":
        raise UsageError("a suite is of float32 files", hint="leave out --models and int8")


@command(PeersOptions, engine=True)
def peers(options: PeersOptions) -> None:
    """Measure trimtab beside onnxruntime, OpenVINO, ncnn and MNN: time, loading, memory."""
    import sys
    from dataclasses import replace
    from pathlib import Path

    from lab import committed
    from lab.exclusive import exclusive
    from lab.machine import MachineMonitor
    from lab.peers import report
    from lab.peers import suite as suites
    from lab.peers.compare import SUITE_PEERS, ComparisonScope, Installed, compare
    from lab.peers.process import isa
    from lab.peers.quantized import quantized
    from trimtab import files, paths, tables, zoo
    from trimtab.cli._progress import shown
    from trimtab.errors import UsageError
    from trimtab.pipeline.resolve import model_path, read_plan

    counts = _counts(options.threads)
    is_half = bool(options.device) and options.precision == "f16"
    if options.precision not in report.NAMES and not is_half:
        raise UsageError(
            f"unknown precision {options.precision!r}", hint=f"use {' or '.join(report.NAMES)}"
        )
    is_quantized = options.precision == "int8"
    prefer = options.prefer
    read_plan("", prefer=prefer)  # UsageError for an unknown preference
    if options.runner and not options.device:
        raise UsageError("--runner is a program of a device", hint="--device NAME")
    progress = shown(quiet=options.json)
    missing: list[str] = []
    if options.suite:
        _check_suite(options)
        exports = Path(options.exports) if options.exports else paths.cache() / "networks"
        model_files, missing = suites.models(Path(options.suite), exports)
    else:
        names = [name for name in options.models.split(",") if name] or zoo.names()
        model_files = [model_path(name, progress=progress) for name in names]
    if is_quantized:
        with progress.step("quantize", "networks") as step:
            for number, path in enumerate(model_files):
                step.update(number, len(model_files))
                model_files[number] = quantized(path, paths.cache() / "peers")
    if options.device:
        _on_device(options, counts, model_files, missing)
        return
    python = options.python or sys.executable
    only = _engines(options) or (SUITE_PEERS if options.suite else ())
    engines = Installed(python, quantized=is_quantized, only=only)
    scope = ComparisonScope(model_files, counts, options.rounds, prefer)
    if options.suite:
        scope = replace(scope, loads=1, tolerant=True)
    monitor = MachineMonitor()
    with exclusive("bench.peers", parse_wait(options.wait), progress):
        comparison = compare(scope, engines, paths.cache() / "peers", progress)
    absent = (f"{name}: {_NOT_EXPORTED}" for name in missing)
    comparison = replace(comparison, left_out=(*comparison.left_out, *absent))
    page = report.suite_page(comparison) if options.suite else report.page(comparison)
    print(report.to_json(comparison) if options.json else tables.text(page))
    if options.output:
        files.write_text(Path(options.output), tables.markdown(page) + "\n")
        progress.note(f"written: {options.output}")
    if options.update:
        results = report.to_results(comparison, _repeated(options), monitor.facts())
        name = report.suite_name(isa()) if options.suite else report.NAMES[options.precision]
        progress.note(f"written: {committed.write(name, results)}")
