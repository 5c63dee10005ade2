"""Tasks that make binaries and weigh them: build, size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._engine import needs_engine
from trimtab.cli._options import (
    BUDGET_HELP,
    DEFAULT,
    INPUT_HELP,
    PLAN_HELP,
    PRECISE,
    PRECISION_HELP,
    PREFER_HELP,
    THREADS_HELP,
    WEIGHTS_HELP,
    defaults_of,
    help_of,
    parse_budget,
    parse_calibration,
    parse_inputs,
    read_plan,
    with_options,
)

if TYPE_CHECKING:
    from trimtab.build.builder import Build
    from trimtab.results.footprint import Footprint
    from trimtab.size import SizeReport

GROUP = "Build"


@task(
    iterable=["input"],
    help={
        "model": "a model file, or a zoo network by name",
        "profile": "what the binary holds: a name or a file; default: just what the model needs",
        "toolchain": "which machine to build for (see docs/toolchains.md)",
        "cpu": "and which core, e.g. cortex-a53; default: any of the architecture",
        "output": "folder to deliver into; default: dist/NAME-TOOLCHAIN",
        "embed-model": "link the model into the runner: a single file",
        "example": "also a C program that uses the library, ready to compile",
        "plan": PLAN_HELP,
        "prefer": PREFER_HELP,
        "weights": WEIGHTS_HELP,
        "precision": PRECISION_HELP,
        "threads": THREADS_HELP,
        **help_of(PRECISE),
        **BUDGET_HELP,
        "strings": "keep names and error texts; --no-strings drops them",
        "input": INPUT_HELP,
        "shared": "also libtrimtab.so: the output is a prefix for CMake and pkg-config",
        "debug": "without optimization, with debug information",
        "json": "print the build record and the sizes as JSON",
    },
)
@with_options(defaults_of(PRECISE))
@needs_engine
def build(
    _: Context,
    input: list[str],
    model: str = "",
    profile: str = "",
    toolchain: str = "host",
    cpu: str = "",
    output: str = "",
    embed_model: bool = False,
    example: bool = False,
    plan: str = "",
    prefer: str = "",
    weights: str = "",
    precision: str = "",
    threads: int = DEFAULT,
    max_model_bytes: str = "",
    max_binary_bytes: str = "",
    max_memory: str = "",
    strings: bool = True,
    shared: bool = False,
    debug: bool = False,
    json: bool = False,
    **given: Any,
) -> None:
    """Build a model's runner, libtrimtab.a, header and .ttm file, and say what they weigh."""
    from trimtab import reports, size
    from trimtab.cli._progress import shown
    from trimtab.pipeline import built
    from trimtab.pipeline.loaded import load
    from trimtab.pipeline.planned import plan as plan_network
    from trimtab.pipeline.recipe import Recipe

    recipe = Recipe(
        model=model,
        profile=profile,
        toolchain=toolchain,
        cpu=cpu,
        shapes=parse_inputs(input),
        plan=read_plan(plan, prefer, weights, precision, threads),
        calibration=parse_calibration(given),
        embed_model=embed_model,
        example=example,
        strings=strings,
        build_type="Debug" if debug else "Release",
        shared=shared,
        budget=parse_budget(max_model_bytes, max_binary_bytes, max_memory, prefer),
        output=Path(output) if output else None,
    )
    progress = shown(quiet=json)
    footprints: list[Footprint] = []
    accuracy = search = None
    if model:
        loaded = load(recipe, progress)
        accuracy, search = loaded.network.accuracy, loaded.network.search
        result = built.build(plan_network(loaded, progress), progress)
        footprints = built.footprints(result, progress)
        delivered = result.delivered
    else:
        delivered = built.build_profile(recipe, progress)
    report = size.measure(delivered.output_dir)
    if json:
        facts: dict[str, object] = {"output": str(delivered.output_dir)}
        facts |= {"shipped": [asdict(footprint) for footprint in footprints]}
        facts |= {"accuracy": asdict(accuracy) if accuracy else None}
        facts |= {"search": asdict(search) if search else None}
        _print_json({**delivered.record, **facts, "size": report.to_json()})
    else:
        for table in reports.precision(accuracy, search):
            print(table.text() + "\n")
        _print_summary(delivered, footprints, report)


def _print_summary(made: Build, footprints: Sequence[Footprint], report: SizeReport) -> None:
    from trimtab import reports

    if footprints:
        print(reports.shipped(footprints).text() + "\n")
    kinds = {group.partition(":")[0]: None for group in report.groups}
    parts = ", ".join(f"{kind} {report.total(kind):,}" for kind in kinds if report.total(kind) > 99)
    print(f"{made.output_dir}:")
    for path in (made.runner, made.library, made.header, made.model):
        if path:
            print(f"  {path.name:<20} {path.stat().st_size:>12,} bytes")
    if (made.output_dir / "example").is_dir():
        print("  example/             a program that uses the library: its README.md")
    print(f"  build.json, debug/   {made.compiler}; the runner with its symbols, and its link map")
    print(f"runner: {parts}")
    print(f"more: ./inv size {made.output_dir}")


def _print_json(value: object) -> None:
    import json

    print(json.dumps(value, indent=1))


@task(
    iterable=["binary"],
    help={
        "binary": "a runner, or the folder of a build; may be repeated",
        "symbols": "also list this many of the largest symbols",
        "model": "instead of binaries: a model file, or a zoo network by name; shows what each "
        "algorithm and kernel of its plan costs in bytes and saves in time",
        "toolchain": "with --model: which machine to plan for (default: Linux, static)",
        "cpu": "with --model: and which core, e.g. cortex-a53",
        "plan": f"with --model: {PLAN_HELP}",
        "threads": f"with --model: {THREADS_HELP}",
        "json": "machine-readable",
    },
)
def size(
    _: Context,
    binary: list[str],
    symbols: int = 0,
    model: str = "",
    toolchain: str = "",
    cpu: str = "",
    plan: str = "",
    threads: int = DEFAULT,
    json: bool = False,
) -> None:
    """Show where the bytes of binaries go, or what each part of a model's plan is worth."""
    from trimtab import size, tables
    from trimtab.errors import UsageError

    if bool(binary) == bool(model):
        raise UsageError(
            "which binary, or which model?",
            hint="./inv size dist/NAME-TOOLCHAIN, or ./inv size --model NAME --cpu CORE",
        )
    if model:
        _show_worth(model, toolchain, cpu, plan, threads, json=json)
        return
    reports = [size.measure(Path(path)) for path in binary]
    if json:
        _print_json([report.to_json() for report in reports])
    else:
        print(tables.text(size.tables(reports, symbols)))


@needs_engine
def _show_worth(
    model: str, toolchain: str, cpu: str, plan: str, threads: int, *, json: bool
) -> None:
    from trimtab.cli._progress import shown
    from trimtab.pipeline.loaded import load
    from trimtab.pipeline.plan_costs import plan_costs, table, toolchain_with_code_sizes
    from trimtab.pipeline.planned import plan as plan_network
    from trimtab.pipeline.recipe import Recipe

    recipe = Recipe(
        model=model,
        toolchain=toolchain or toolchain_with_code_sizes(cpu),
        cpu=cpu,
        plan=read_plan(plan, threads=threads),
    )
    progress = shown(quiet=json)
    costs = table(plan_costs(plan_network(load(recipe, progress), progress), progress))
    print(costs.json() if json else costs.text())
