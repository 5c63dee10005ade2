"""Tasks on models: inspect, convert, profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._engine import needs_engine

if TYPE_CHECKING:
    from trimtab.planner.choices import Plan
    from trimtab.program import Program
    from trimtab.program.inspection import ProgramFacts
    from trimtab.target import Target

PLAN_HELP = "TOML file with choices of algorithms and kernels (./inv inspect --plan)"
_INPUT_HELP = "shape of a free input: NAME=1,3,224,224 (repeatable)"


def parse_inputs(given: list[str]) -> dict[str, tuple[int, ...]]:
    """["data=1,3,224,224"] -> {"data": (1, 3, 224, 224)}; UsageError for anything else."""
    from trimtab.errors import UsageError

    shapes = {}
    for text in given:
        name, _, dims = text.rpartition("=")
        try:
            shapes[name] = tuple(int(d) for d in dims.split(","))
        except ValueError:
            shapes[name] = ()
        if not name or not shapes[name] or min(shapes[name]) < 1:
            raise UsageError(
                f"cannot read the input shape {text!r}", hint="write it as NAME=1,3,224,224"
            )
    return shapes


def load_model(model: str, inputs: list[str], outputs: list[str] | None = None) -> Program:
    """The program of a model file, or of a zoo network by its name; see `trimtab.load`."""
    import trimtab
    from trimtab.workflow.models import model_path

    return trimtab.load(model_path(model), parse_inputs(inputs), outputs)


def target_of(toolchain: str, cpu: str) -> Target:
    """The target of a toolchain, or this machine."""
    from trimtab.workflow.models import target_of

    return target_of(toolchain or "host", cpu)


def read_plan(path: str) -> Plan | None:
    """The plan in a TOML file; None for "", which leaves everything to the planner's rules."""
    from trimtab.planner.choices import Plan

    return Plan.read(path) if path else None


@task(
    iterable=["input"],
    help={
        "model": "model file or zoo network",
        "input": _INPUT_HELP,
        "optimized": "show it before and after optimisation",
        "plan": "print only the plan: what to edit and give to build, bench or convert",
        "toolchain": "plan for this toolchain (default: this machine)",
        "cpu": "and this CPU",
        "json": "machine-readable",
    },
)
@needs_engine
def inspect(
    c: Context,
    model: str,
    input: list[str],
    optimized: bool = False,
    toolchain: str = "",
    cpu: str = "",
    plan: bool = False,
    json: bool = False,
) -> None:
    """Show a model's operators, shapes, MACs, parameters and activation memory; or its plan."""
    from trimtab import session, tables
    from trimtab.planner.choices import plan_of
    from trimtab.program import inspection

    program = load_model(model, input)
    if plan:
        planned = program
        if not program.planned:
            planned = session.optimize(program, target_of(toolchain, cpu))
        title = f"{planned.name}, planned for {planned.target}"
        print(plan_of(planned).to_toml(title), end="")
        return
    facts = [inspection.inspect(program)]
    if optimized:
        optimised = session.optimize(program, target_of(toolchain, cpu))
        facts.append(inspection.inspect(optimised))
        if not json:
            print("passes, in order: " + ", ".join(optimised.passes) + "\n")
    if json:
        _print_json(facts)
    else:
        print(tables.text(inspection.page(facts)), end="")


def _print_json(facts: list[ProgramFacts]) -> None:
    import dataclasses
    import json

    before, *after = [dataclasses.asdict(f) for f in facts]
    print(
        json.dumps(
            {"program": before, "optimized": after[0]} if after else {"program": before}, indent=1
        )
    )


@task(
    iterable=["input", "tensor"],
    help={
        "model": "model file or zoo network",
        "output": "the .ttm file to write",
        "input": _INPUT_HELP,
        "tensor": "wanted instead of the model's outputs, such as a raw head (repeatable)",
        "toolchain": "plan for this toolchain's CPUs",
        "cpu": "and this CPU",
        "plan": f"{PLAN_HELP}; with --toolchain",
        "names": "keep names in the file",
    },
)
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
    names: bool = True,
) -> None:
    """Convert a model to .ttm: as it is, or optimised and planned with --toolchain."""
    from pathlib import Path

    from trimtab import session
    from trimtab.errors import UsageError

    if (plan or cpu) and not toolchain:
        raise UsageError("a plan is for a machine: which?", hint="--toolchain NAME, or host")
    program = load_model(model, input, tensor)
    if toolchain:
        program = session.optimize(program, target_of(toolchain, cpu), read_plan(plan))
    program.save(output, names=names)
    size, plan = Path(output).stat().st_size, program.target or "not planned"
    print(f"written: {output} ({size:,} bytes, {len(program.ops)} operators, {plan})")


@task(
    iterable=["model", "input"],
    help={
        "model": "model file or zoo network (repeatable: the union)",
        "toolchain": "plan for this toolchain (default: this machine)",
        "cpu": "and this CPU",
        "output": "write the profile to this TOML file",
        "input": _INPUT_HELP,
        "strings": "keep names and error texts",
    },
)
@needs_engine
def profile(
    c: Context,
    model: list[str],
    input: list[str],
    toolchain: str = "",
    cpu: str = "",
    output: str = "",
    strings: bool = True,
) -> None:
    """Show which operators, dtypes and kernels one or more models need; write it as a profile."""
    from functools import reduce
    from pathlib import Path

    from trimtab import files
    from trimtab.build.derive import profile_of
    from trimtab.errors import UsageError
    from trimtab.profile import Profile

    if not model:
        raise UsageError(
            "name at least one model", hint="--model net.onnx, or --model NAME of a zoo network"
        )
    target = target_of(toolchain, cpu)
    union = reduce(
        Profile.merged, (profile_of(load_model(m, input), target, strings=strings) for m in model)
    )
    if output:
        files.write_text(Path(output), union.to_toml())
        print(f"written: {output}")
    else:
        print(union.to_toml(), end="")


@task
def zoo(c: Context) -> None:
    """List the networks that trimtab can build itself, with seeded weights."""
    from trimtab import zoo as networks

    print("\n".join(networks.names()))
