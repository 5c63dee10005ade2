"""Tasks on models: inspect, convert, profile."""

from __future__ import annotations

from typing import Any

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._engine import needs_engine
from trimtab.cli._options import (
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
    parse_calibration,
    parse_inputs,
    read_plan,
    with_options,
)


@task(
    iterable=["input"],
    help={
        "model": "model file or zoo network",
        "input": INPUT_HELP,
        "optimized": "show it before and after optimization",
        "plan": "print only the plan: what to edit and give to build, bench or convert",
        "prefer": PREFER_HELP,
        "weights": WEIGHTS_HELP,
        "precision": PRECISION_HELP,
        "threads": THREADS_HELP,
        **help_of(PRECISE),
        "toolchain": "plan for this toolchain (default: this machine)",
        "cpu": "and this CPU",
        "json": "machine-readable",
    },
)
@with_options(defaults_of(PRECISE))
@needs_engine
def inspect(
    c: Context,
    model: str,
    input: list[str],
    optimized: bool = False,
    toolchain: str = "",
    cpu: str = "",
    plan: bool = False,
    prefer: str = "",
    weights: str = "",
    precision: str = "",
    threads: int = DEFAULT,
    json: bool = False,
    **given: Any,
) -> None:
    """Show a model's operators, shapes, MACs, parameters and activation memory; or its plan."""
    from dataclasses import asdict

    from trimtab import reports, session, tables
    from trimtab.cli._progress import shown
    from trimtab.pipeline.precision import with_precision
    from trimtab.pipeline.resolve import load, target_of
    from trimtab.planner.plan_file import plan_of
    from trimtab.program import inspection

    progress, target = shown(quiet=json), target_of(toolchain, cpu)
    program = load(model, parse_inputs(input), progress=progress)
    wanted = read_plan("", prefer, weights, precision, threads)
    calibration = parse_calibration(given).of(model)
    precise = with_precision(program, wanted, calibration, target, progress)
    if plan:
        planned = program
        if not program.planned:
            planned = session.optimize(precise.program, target, precise.plan)
        lines = [f"{planned.name}, planned for {planned.target}", *precise.lines()]
        print(precise.kept(plan_of(planned)).to_toml("\n".join(lines)), end="")
        return
    # In which type an operator is the plan alone says.
    is_precise = bool(wanted and wanted.precision != "f32" and not program.planned)
    shown_as = [] if is_precise and not optimized else [program]
    if optimized or is_precise:
        shown_as.append(session.optimize(precise.program, target, precise.plan))
    facts = [inspection.inspect(one) for one in shown_as]
    if json:
        kinds = ("accuracy", precise.accuracy), ("search", precise.search)
        print(inspection.to_json(facts, {key: asdict(one) for key, one in kinds if one}))
        return
    told = reports.precision(precise.accuracy, precise.search)
    order = ["passes, in order: " + ", ".join(shown_as[-1].passes)] if optimized else []
    print(tables.text([*told, *order, *inspection.page(facts)]))


@task(
    iterable=["input", "tensor"],
    help={
        "model": "model file or zoo network",
        "output": "the file to write: .ttm, or .onnx for the optimized program",
        "input": INPUT_HELP,
        "tensor": "wanted instead of the model's outputs, such as a raw head (repeatable)",
        "toolchain": "plan for this toolchain's CPUs",
        "cpu": "and this CPU",
        "plan": f"{PLAN_HELP}; with --toolchain",
        "prefer": f"{PREFER_HELP}; with --toolchain",
        "weights": f"{WEIGHTS_HELP}; with --toolchain",
        "precision": f"{PRECISION_HELP}; with --toolchain",
        "threads": f"{THREADS_HELP}; with --toolchain",
        **help_of(PRECISE),
        "profile": "what the binary that runs it holds: a name or a file; with --toolchain",
        "names": "keep names in the file",
    },
)
@with_options(defaults_of(PRECISE))
@needs_engine
def convert(
    c: Context,
    model: str,
    output: str,
    input: list[str],
    tensor: list[str],
    toolchain: str = "",
    cpu: str = "",
    plan: str = "",
    prefer: str = "",
    weights: str = "",
    precision: str = "",
    threads: int = DEFAULT,
    profile: str = "",
    names: bool = True,
    **given: Any,
) -> None:
    """Convert a model to .ttm, as it is or planned with --toolchain; or, optimized, to .onnx."""
    from pathlib import Path

    from trimtab import exporters, files, passes, reports, session
    from trimtab.cli._progress import shown
    from trimtab.errors import UsageError
    from trimtab.pipeline.precision import with_precision
    from trimtab.pipeline.resolve import load, target_of

    wanted = read_plan(plan, prefer, weights, precision, threads)
    calibration, progress = parse_calibration(given), shown()
    if (wanted or calibration or cpu or profile) and not toolchain:
        raise UsageError("a plan is for a machine: which?", hint="--toolchain NAME, or host")
    exporter = exporters.of(Path(output))
    if exporter and toolchain:
        raise UsageError(
            f"{output} cannot hold a plan for {toolchain}",
            hint="leave out --toolchain, or name a .ttm file",
        )
    program = load(model, parse_inputs(input), tensor, progress)
    if toolchain:
        target = target_of(toolchain, cpu, profile=profile)
        precise = with_precision(program, wanted, calibration.of(model), target, progress)
        program = session.optimize(precise.program, target, precise.plan)
        for table in reports.precision(precise.accuracy, precise.search):
            print(table.text() + "\n")
    if exporter:
        program = program if program.planned else passes.optimize(program)
        files.write_bytes(Path(output), exporter.encode(program))
    else:
        program.save(output, names=names)
    size, plan = Path(output).stat().st_size, program.target or "not planned"
    print(f"written: {output} ({size:,} bytes, {len(program.ops)} operators, {plan})")


@task(
    iterable=["model", "input"],
    help={
        "model": "model file or zoo network (repeatable: the union)",
        "toolchain": "plan for this toolchain (default: this machine)",
        "cpu": "and this CPU",
        "precision": PRECISION_HELP,
        "threads": THREADS_HELP,
        **help_of(PRECISE),
        "output": "write the profile to this TOML file",
        "input": INPUT_HELP,
        "strings": "keep names and error texts",
    },
)
@with_options(defaults_of(PRECISE))
@needs_engine
def profile(
    c: Context,
    model: list[str],
    input: list[str],
    toolchain: str = "",
    cpu: str = "",
    precision: str = "",
    threads: int = DEFAULT,
    output: str = "",
    strings: bool = True,
    **given: Any,
) -> None:
    """Show which operators, dtypes and kernels one or more models need; write it as a profile."""
    from functools import reduce
    from pathlib import Path

    from trimtab import files, session
    from trimtab.build.derived_profile import profile_of
    from trimtab.cli._progress import shown
    from trimtab.errors import UsageError
    from trimtab.pipeline.precision import with_precision
    from trimtab.pipeline.resolve import load, target_of
    from trimtab.profile import Profile

    if not model:
        raise UsageError(
            "name at least one model", hint="--model net.onnx, or --model NAME of a zoo network"
        )
    target, shapes, progress = target_of(toolchain, cpu), parse_inputs(input), shown()
    plan = read_plan("", precision=precision, threads=threads)
    calibration = parse_calibration(given)
    profiles, told = [], []
    for name in model:
        program = load(name, shapes, progress=progress)
        precise = with_precision(program, plan, calibration.of(name), target, progress)
        planned = session.optimize(precise.program, target, precise.plan)
        profiles.append(profile_of(planned, strings=strings))
        if precise.accuracy:
            told += [f"{name}, in {precision}", *precise.lines()]
    union = reduce(Profile.union, profiles)
    if output:
        files.write_text(Path(output), union.to_toml())
        print("\n".join([*told, f"written: {output}"]))
    else:
        print("".join(f"# {line}\n" for line in told) + union.to_toml(), end="")


@task
def zoo(c: Context) -> None:
    """List the networks that trimtab can build itself, with seeded weights."""
    from trimtab import zoo as networks

    print("\n".join(networks.names()))
