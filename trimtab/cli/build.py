"""Tasks that make binaries and weigh them: build, size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._engine import needs_engine
from trimtab.cli.model import PLAN_HELP

if TYPE_CHECKING:
    from trimtab.build.builder import Build
    from trimtab.size import SizeReport


@task(
    iterable=["input"],
    help={
        "model": "a model file, or a zoo network by name",
        "profile": "what the binary holds: a name or a file; default: just what the model needs",
        "toolchain": "which machine to build for (see docs/toolchains.md)",
        "cpu": "and which core, e.g. cortex-a53; default: any of the architecture",
        "output": "folder to deliver into; default: dist/NAME-TOOLCHAIN",
        "embed-model": "link the model into the runner: a single file",
        "plan": PLAN_HELP,
        "strings": "keep names and error texts; --no-strings drops them",
        "input": "NAME=1,3,224,224 for an input with free dimensions; may be repeated",
        "debug": "without optimisation, with debug information",
        "json": "print the build record and the sizes as JSON",
    },
)
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
    plan: str = "",
    strings: bool = True,
    debug: bool = False,
    json: bool = False,
) -> None:
    """Build a model's runner, libtrimtab.a, header and .ttm file, and say what they weigh."""
    import dataclasses
    import tempfile

    from trimtab import size
    from trimtab.build import builder
    from trimtab.build.derive import profile_of
    from trimtab.build.toolchain import find_toolchain
    from trimtab.cli.model import load_model, read_plan, target_of
    from trimtab.errors import UsageError
    from trimtab.profile import find_profile
    from trimtab.session import optimize
    from trimtab.workflow.build import check_profile

    if not model and not profile:
        raise UsageError(
            "what is to be built?", hint="--model FILE, --profile NAME (./inv profile), or both"
        )
    program = None
    if model:
        target = target_of(toolchain, cpu)
        program = optimize(load_model(model, input), target, read_plan(plan))
    if profile:
        chosen = find_profile(profile)
        if program:
            check_profile(chosen, profile_of(program), find_toolchain(toolchain).arch)
    else:
        assert program is not None
        chosen = profile_of(program)
    chosen = dataclasses.replace(chosen, strings=strings and chosen.strings)
    stem = Path(model).stem if model else chosen.name
    with tempfile.TemporaryDirectory(prefix="trimtab-") as scratch:
        ttm = Path(scratch) / f"{stem}.ttm"
        if program:
            program.save(ttm, names=chosen.strings)
        made = builder.build(
            builder.BuildRequest(
                profile=chosen,
                output_dir=Path(output or f"dist/{stem}-{toolchain}"),
                toolchain=toolchain,
                cpu=cpu or None,
                model=ttm if program else None,
                embed_model=embed_model,
                build_type="Debug" if debug else "Release",
            )
        )
    report = size.measure(made.output_dir)
    if json:
        _print_json({**made.record, "output": str(made.output_dir), "size": report.to_json()})
    else:
        _print_summary(made, report)


def _print_summary(made: Build, report: SizeReport) -> None:
    kinds = {group.partition(":")[0]: None for group in report.groups}
    parts = ", ".join(f"{kind} {report.total(kind):,}" for kind in kinds if report.total(kind) > 99)
    print(f"{made.output_dir}:")
    for path in (made.runner, made.library, made.header, made.model):
        if path:
            print(f"  {path.name:<20} {path.stat().st_size:>12,} bytes")
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
        "json": "machine-readable",
    },
)
def size(_: Context, binary: list[str], symbols: int = 0, json: bool = False) -> None:
    """Show where the bytes of one binary go, or of several side by side."""
    from trimtab import size, tables
    from trimtab.errors import UsageError

    if not binary:
        raise UsageError("which binary?", hint="./inv size dist/NAME-TOOLCHAIN")
    reports = [size.measure(Path(path)) for path in binary]
    if json:
        _print_json([report.to_json() for report in reports])
    else:
        print(tables.text(size.tables(reports, symbols)), end="")
