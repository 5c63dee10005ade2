"""Measures trimtab beside other inference engines."""

from __future__ import annotations

from invoke.context import Context

from trimtab.cli._command import task
from trimtab.cli._engine import needs_engine
from trimtab.cli._options import PREFER_HELP, WAIT_HELP, parse_wait

NAMESPACE = "bench"


def _counts(text: str) -> list[int]:
    """The thread counts of a command line; UsageError when malformed."""
    from trimtab.errors import UsageError

    counts = [int(word) for word in text.split(",") if word.isdecimal()]
    if not counts or 0 in counts or len(counts) != text.count(",") + 1:
        raise UsageError(f"bad thread counts {text!r}", hint="write them as 1,2")
    return counts


@task(
    optional=["wait"],
    help={
        "models": "comma-separated zoo networks or ONNX files; default: the whole zoo",
        "threads": "comma-separated thread counts",
        "rounds": "rounds of inferences of each engine on each model",
        "precision": "f32, or int8: QDQ files quantized by onnxruntime",
        "prefer": PREFER_HELP,
        "python": "interpreter that has the peers; default: this one",
        "wait": WAIT_HELP,
        "json": "print JSON",
        "output": "also write the tables to this Markdown file",
        "update": "write the figures to lab/peers/",
    },
)
@needs_engine
def peers(
    _: Context,
    models: str = "",
    threads: str = "1",
    rounds: int = 10,
    precision: str = "f32",
    prefer: str = "",
    python: str = "",
    wait: str = "",
    json: bool = False,
    output: str = "",
    update: bool = False,
) -> None:
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

    counts = _counts(threads)
    if precision not in report.NAMES:
        raise UsageError(
            f"unknown precision {precision!r}", hint=f"use {' or '.join(report.NAMES)}"
        )
    is_quantized = precision != "f32"
    read_plan("", prefer)  # UsageError for an unknown preference
    engines = Installed(python or sys.executable, quantized=is_quantized)
    names = [name for name in models.split(",") if name] or zoo.names()
    progress = shown(quiet=json)
    model_files = [model_path(name, progress=progress) for name in names]
    if is_quantized:
        with progress.step("quantize", "networks") as step:
            for number, path in enumerate(model_files):
                step.update(number, len(model_files))
                model_files[number] = quantized(path, paths.cache() / "peers")
    work = ComparisonScope(model_files, counts, rounds, prefer)
    monitor = MachineMonitor()
    with exclusive("bench.peers", parse_wait(wait), progress):
        comparison = compare(work, engines, paths.cache() / "peers", progress)
    page = report.page(comparison)
    print(report.to_json(comparison) if json else tables.text(page))
    if output:
        files.write_text(Path(output), tables.markdown(page) + "\n")
        progress.note(f"written: {output}")
    if update:
        options = f"--threads {threads} --rounds {rounds}" + f" --models {models}" * bool(models)
        options += f" --precision {precision}" * is_quantized
        options += f" --prefer {prefer}" * bool(prefer)
        options += " --python PEERS/bin/python" * bool(python)
        command = f"./inv bench.peers {options} --update"
        results = report.to_results(comparison, command, monitor.facts())
        progress.note(f"written: {committed.write(report.NAMES[precision], results)}")
