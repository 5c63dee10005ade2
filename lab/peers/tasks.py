"""Measures trimtab beside other inference engines."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option
from trimtab.cli._options import PREFER_HELP, WAIT_HELP, parse_wait

NAMESPACE = "bench"


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

    models: str = option("comma-separated zoo networks or ONNX files; default: the whole zoo")
    threads: str = option("comma-separated thread counts", "1")
    rounds: int = option("rounds of inferences of each engine on each model", 10)
    precision: str = option("f32, or int8: QDQ files quantized by onnxruntime", "f32")
    prefer: str = option(PREFER_HELP)
    python: str = option("interpreter that has the peers; default: this one")
    wait: str = option(WAIT_HELP, bare=True)
    json: bool = option("print JSON", False)
    output: str = option("also write the tables to this Markdown file")
    update: bool = option("write the figures to lab/peers/", False)


@command(PeersOptions, engine=True)
def peers(options: PeersOptions) -> None:
    """Measure trimtab beside onnxruntime, OpenVINO, ncnn and MNN: time, loading, memory."""
    import sys
    from pathlib import Path

    from lab import committed
    from lab.exclusive import exclusive
    from lab.machine import MachineMonitor
    from lab.peers import report
    from lab.peers.compare import ComparisonScope, Installed, compare
    from lab.peers.quantized import quantized
    from trimtab import files, paths, tables, zoo
    from trimtab.cli._progress import shown
    from trimtab.errors import UsageError
    from trimtab.pipeline.resolve import model_path, read_plan

    counts = _counts(options.threads)
    if options.precision not in report.NAMES:
        raise UsageError(
            f"unknown precision {options.precision!r}", hint=f"use {' or '.join(report.NAMES)}"
        )
    is_quantized = options.precision != "f32"
    prefer = options.prefer
    read_plan("", prefer=prefer)  # UsageError for an unknown preference
    engines = Installed(options.python or sys.executable, quantized=is_quantized)
    names = [name for name in options.models.split(",") if name] or zoo.names()
    progress = shown(quiet=options.json)
    model_files = [model_path(name, progress=progress) for name in names]
    if is_quantized:
        with progress.step("quantize", "networks") as step:
            for number, path in enumerate(model_files):
                step.update(number, len(model_files))
                model_files[number] = quantized(path, paths.cache() / "peers")
    scope = ComparisonScope(model_files, counts, options.rounds, prefer)
    monitor = MachineMonitor()
    with exclusive("bench.peers", parse_wait(options.wait), progress):
        comparison = compare(scope, engines, paths.cache() / "peers", progress)
    page = report.page(comparison)
    print(report.to_json(comparison) if options.json else tables.text(page))
    if options.output:
        files.write_text(Path(options.output), tables.markdown(page) + "\n")
        progress.note(f"written: {options.output}")
    if options.update:
        words = [f"--threads {options.threads} --rounds {options.rounds}"]
        words += [f"--models {options.models}"] * bool(options.models)
        words += [f"--precision {options.precision}"] * is_quantized
        words += [f"--prefer {prefer}"] * bool(prefer)
        words += ["--python PEERS/bin/python"] * bool(options.python)
        command = " ".join(["./inv bench.peers", *words, "--update"])
        results = report.to_results(comparison, command, monitor.facts())
        progress.note(f"written: {committed.write(report.NAMES[options.precision], results)}")
