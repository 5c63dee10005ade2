"""Measures the size of trimmed runners and model files."""

from __future__ import annotations

from dataclasses import dataclass

from lab.options import CheckedOptions
from trimtab.cli._command import command, group, option

NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class SizesOptions:
    """Options of `bench.sizes`."""

    network: tuple[str, ...] = option(
        "zoo network, a profile of all operators (`full`, `float32`), or `nv12_to_boxes`, a "
        "detector behind a camera (repeatable; default: all)",
        (),
    )
    cpu: tuple[str, ...] = option("only targets with this core (repeatable; default: all)", ())
    code: bool = option(
        "instead: code bytes of each operator and kernel, the input of the cost model", False
    )
    results: CheckedOptions = group(CheckedOptions)


@command(SizesOptions, engine=True)
def sizes(options: SizesOptions) -> None:
    """Measure the size of trimmed runners and model files of the zoo, for several targets."""
    from lab.experiment import TaskRun
    from lab.sizes import figures
    from lab.sizes.measure import measure_code, measure_runners
    from trimtab import zoo

    run = TaskRun(figures.SIZES, options)
    if options.code:
        code_sizes = measure_code(run.progress)
        table = figures.code_table(code_sizes)
        print(table.json() if options.results.json else table.text())
        if options.results.update:
            figures.commit_code(code_sizes)
        if options.results.check:
            figures.check_code(code_sizes)
        return
    names = options.network or [*zoo.names(), *figures.PROFILES, figures.DETECTOR]
    rows, versions = measure_runners(names, options.cpu, run.progress)
    run.finish(rows, versions=versions)
