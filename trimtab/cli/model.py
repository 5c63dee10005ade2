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

GROUP = "Build"


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

    from trimtab import reports, tables
    from trimtab.cli._progress import shown
    from trimtab.pipeline.loaded import load
    from trimtab.pipeline.planned import plan as plan_network
    from trimtab.pipeline.recipe import Recipe
    from trimtab.planner.plan_file import plan_of
    from trimtab.program import inspection

    progress = shown(quiet=json)
    recipe = Recipe(
        model=model,
        toolchain=toolchain,
        cpu=cpu,
        shapes=parse_inputs(input),
        plan=read_plan("", prefer, weights, precision, threads),
        calibration=parse_calibration(given),
    )
    loaded = load(recipe, progress)
    source, network = loaded.source, loaded.network
    if plan:
        planned = source if source.planned else plan_network(loaded, progress).program
        title = [f"{planned.name}, planned for {planned.target}", *network.comments()]
        print(network.with_precisions(plan_of(planned)).to_toml("\n".join(title)), end="")
        return
    # Only a plan knows the type that an operator computes in.
    is_converted = recipe.plan.precision != "f32" and not source.planned
    programs = [] if is_converted and not optimized else [source]
    if optimized or is_converted:
        programs.append(plan_network(loaded, progress).program)
    facts = [inspection.inspect(program) for program in programs]
    if json:
        kinds = ("accuracy", network.accuracy), ("search", network.search)
        print(inspection.to_json(facts, {key: asdict(one) for key, one in kinds if one}))
        return
    accuracy = reports.precision(network.accuracy, network.search)
    order = ["passes, in order: " + ", ".join(programs[-1].passes)] if optimized else []
    print(tables.text([*accuracy, *order, *inspection.page(facts)]))


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

    from trimtab import exporters, files, passes, reports
    from trimtab.cli._progress import shown
    from trimtab.errors import UsageError
    from trimtab.pipeline.loaded import load
    from trimtab.pipeline.planned import plan as plan_network
    from trimtab.pipeline.recipe import Recipe

    recipe = Recipe(
        model=model,
        profile=profile,
        toolchain=toolchain,
        cpu=cpu,
        shapes=parse_inputs(input),
        outputs=tuple(tensor),
        plan=read_plan(plan, prefer, weights, precision, threads),
        calibration=parse_calibration(given),
    )
    planning = plan, prefer, weights, precision, threads != DEFAULT, cpu, profile
    if (any(planning) or recipe.calibration) and not toolchain:
        raise UsageError("a plan is for a machine: which?", hint="--toolchain NAME, or host")
    exporter = exporters.of(Path(output))
    if exporter and toolchain:
        raise UsageError(
            f"{output} cannot hold a plan for {toolchain}",
            hint="leave out --toolchain, or name a .ttm file",
        )
    progress = shown()
    loaded = load(recipe, progress)
    program = loaded.source
    if toolchain:
        program = plan_network(loaded, progress).program
        for table in reports.precision(loaded.network.accuracy, loaded.network.search):
            print(table.text() + "\n")
    if exporter:
        program = program if program.planned else passes.optimize(program)
        files.write_bytes(Path(output), exporter.encode(program))
    else:
        program.save(output, names=names)
    size, target = Path(output).stat().st_size, program.target or "not planned"
    print(f"written: {output} ({size:,} bytes, {len(program.ops)} operators, {target})")


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
    from dataclasses import replace
    from functools import reduce
    from pathlib import Path

    from trimtab import files
    from trimtab.build.derived_profile import profile_of
    from trimtab.cli._progress import shown
    from trimtab.errors import UsageError
    from trimtab.pipeline.loaded import load
    from trimtab.pipeline.planned import plan
    from trimtab.pipeline.recipe import Recipe
    from trimtab.profile import Profile

    if not model:
        raise UsageError(
            "name at least one model", hint="--model net.onnx, or --model NAME of a zoo network"
        )
    shared = Recipe(
        toolchain=toolchain,
        cpu=cpu,
        shapes=parse_inputs(input),
        plan=read_plan("", precision=precision, threads=threads),
        calibration=parse_calibration(given),
    )
    progress, profiles, comments = shown(), [], []
    for name in model:
        planned = plan(load(replace(shared, model=name), progress), progress)
        network = planned.loaded.network
        profiles.append(profile_of(planned.program, strings=strings))
        if network.accuracy:
            comments += [f"{name}, in {precision}", *network.comments()]
    union = reduce(Profile.union, profiles)
    if output:
        files.write_text(Path(output), union.to_toml())
        print("\n".join([*comments, f"written: {output}"]))
    else:
        print("".join(f"# {line}\n" for line in comments) + union.to_toml(), end="")


@task
def zoo(c: Context) -> None:
    """List the networks that trimtab can build itself, with seeded weights."""
    from trimtab import zoo as networks

    print("\n".join(networks.names()))
