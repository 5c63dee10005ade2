"""Is B faster than A? Both measured in turns, and the noise that a difference has to exceed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._engine import needs_engine
from trimtab.cli._options import (
    INPUT_HELP,
    PLAN_HELP,
    PREFER_HELP,
    RESULTS_HELP,
    THREADS_HELP,
    WEIGHTS_HELP,
    parse_inputs,
    read_plan,
)

if TYPE_CHECKING:
    from trimtab.workflow.sides import Side

NAMESPACE = "bench"

# What both sides have, and, with a- or b- in front, one of them: name, default, help.
_OF_A_SIDE: dict[str, tuple[Any, str]] = {
    "profile": ("", "what the binary holds; default: just what the model needs"),
    "toolchain": ("", "default: the device's"),
    "cpu": ("", "core to build for; default: the device's"),
    "plan": ("", PLAN_HELP),
    "prefer": ("", PREFER_HELP),
    "weights": ("", WEIGHTS_HELP),
    "threads": (0, f"{THREADS_HELP}, or those of the run that is repeated"),
}
_SIDE_HELP = {
    name.replace("_", "-"): text
    for option, (_, help) in _OF_A_SIDE.items()
    for name, text in (
        (option, help),
        (f"a_{option}", f"--{option} of A alone"),
        (f"b_{option}", f"--{option} of B alone"),
    )
}
_WHAT = "model file, zoo network, folder of `build`, or run to repeat (file, id, `last`)"
_SHARED_HELP = {
    "device": "where to measure (./inv devices)",
    "duet": "both sides at the same moment, on two cores that swap",
    "seed": "of the random order; default: a new one",
    "runs": "of the steady state of each launch at least; default 5",
    "min-time-ms": "steady state of each launch at least; default 250",
    "warmup": "runs before it; default 3",
    "timeout": "seconds for one launch of the runner",
    "trust-new": "pin the host key of a device that was never seen",
    "results": RESULTS_HELP,
    "json": "print JSON",
}


def _with_sides(body: Callable[..., None]) -> Callable[..., None]:
    """Gives a task the options of both sides and of each alone, in place of its `**sides`."""
    own = [
        parameter
        for parameter in inspect.signature(body).parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    of_sides = [
        inspect.Parameter(f"{side}{name}", inspect.Parameter.KEYWORD_ONLY, default=default)
        for side in ("", "a_", "b_")
        for name, (default, _) in _OF_A_SIDE.items()
    ]
    body.__signature__ = inspect.Signature([*own, *of_sides])  # type: ignore[attr-defined]
    return body


def _side(what: str, letter: str, options: dict[str, Any], shapes: list[str]) -> Side:
    from trimtab.workflow.build import Recipe
    from trimtab.workflow.sides import Side

    own = {name: options.get(f"{letter}_{name}", d) for name, (d, _) in _OF_A_SIDE.items()}
    chosen = {name: own[name] or options.get(name, d) for name, (d, _) in _OF_A_SIDE.items()}
    recipe = Recipe(
        model=what,
        profile=chosen["profile"],
        toolchain=chosen["toolchain"],
        cpu=chosen["cpu"],
        shapes=parse_inputs(shapes),
        plan=read_plan(
            chosen["plan"], chosen["prefer"], chosen["weights"], threads=chosen["threads"] or 0
        ),
    )
    given = [f"{letter}-{name}" for name, value in own.items() if value and name != "threads"]
    return Side(what, recipe, chosen["threads"], tuple(given))


@task(
    positional=["a", "b"],
    auto_shortflags=False,
    iterable=["input"],
    help={
        "a": f"the baseline: {_WHAT}",
        "b": "what is set against it: as A",
        "launches": "of each side; default 20, at least 10 before a difference is called real",
        "input": INPUT_HELP,
        **_SHARED_HELP,
        **_SIDE_HELP,
    },
)
@_with_sides
@needs_engine
def ab(
    _: Context,
    a: str,
    b: str,
    input: list[str],
    device: str = "local",
    launches: int = 20,
    duet: bool = False,
    seed: int = -1,
    runs: int = 0,
    min_time_ms: int = -1,
    warmup: int = -1,
    timeout: float = 600.0,
    trust_new: bool = False,
    results: str = "",
    json: bool = False,
    **sides: Any,
) -> None:
    """Measure A and B in turns: the ratio of their times, and whether the difference is real."""
    from json import dumps

    from trimtab.bench import comparison
    from trimtab.bench.jobs import Settings
    from trimtab.workflow import ab as workflow
    from trimtab.workflow.progress import shown
    from trimtab.workflow.report import compared, results_folder

    request = workflow.AbRequest(
        a=_side(a, "a", sides, input),
        b=_side(b, "b", sides, input),
        device=device,
        launches=launches,
        duet=duet,
        seed=seed if seed >= 0 else None,
        trust_new=trust_new,
        settings=Settings(
            warmup=warmup if warmup >= 0 else None,
            runs=runs or None,
            min_time_ms=min_time_ms if min_time_ms >= 0 else None,
            timeout_s=timeout,
        ),
    )
    progress = shown(quiet=json)
    found = workflow.compare(request, results_folder(results), progress)
    if json:
        runs_of = {"a": found.a.header.run_id, "b": found.b.header.run_id}
        values = comparison.as_json(found.verdict)
        print(dumps({**values, "runs": runs_of, "record": str(found.path)}, indent=1))
    else:
        print(compared([found.a, found.b]), end="")
        progress.note(f"recorded: {found.path}")
