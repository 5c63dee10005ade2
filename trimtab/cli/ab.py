"""Is B faster than A? Both measured in turns, and the noise that a difference has to exceed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._engine import needs_engine
from trimtab.cli._options import (
    CONTROL,
    DEFAULT,
    INPUT_HELP,
    PLAN_HELP,
    PRECISION_HELP,
    PREFER_HELP,
    RESULTS_HELP,
    THREADS_HELP,
    WEIGHTS_HELP,
    defaults_of,
    given_number,
    help_of,
    parse_control,
    parse_inputs,
    read_plan,
    with_options,
)

if TYPE_CHECKING:
    from trimtab.compare.arms import Side

GROUP = "Measure"
NAMESPACE = "bench"

# What both sides have, and, with a- or b- in front, one of them: name, default, help.
_OF_A_SIDE: dict[str, tuple[Any, str]] = {
    "profile": ("", "what the binary holds; default: just what the model needs"),
    "toolchain": ("", "default: the device's"),
    "cpu": ("", "core to build for; default: the device's"),
    "plan": ("", PLAN_HELP),
    "prefer": ("", PREFER_HELP),
    "weights": ("", WEIGHTS_HELP),
    "precision": ("", PRECISION_HELP),
    "threads": (DEFAULT, f"{THREADS_HELP}, or those of the run that is repeated"),
}
_SIDES = {
    f"{side}{option}": (default, f"--{option} of {side[0].upper()} alone" if side else text)
    for side in ("", "a_", "b_")
    for option, (default, text) in _OF_A_SIDE.items()
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
    "per-op": "also measure each operator, and set those that both have side by side",
    "trust-new": "pin the host key of a device that was never seen",
    "results": RESULTS_HELP,
    "json": "print JSON",
}


def _side(what: str, letter: str, options: dict[str, Any], shapes: list[str]) -> Side:
    from trimtab.compare.arms import Side
    from trimtab.pipeline.recipe import Recipe

    defaults = defaults_of(_OF_A_SIDE)
    own = {name: options.get(f"{letter}_{name}", default) for name, default in defaults.items()}
    own = {name: value for name, value in own.items() if value != defaults[name]}
    chosen = {name: own.get(name, options.get(name, d)) for name, d in defaults.items()}
    recipe = Recipe(
        model=what,
        profile=chosen["profile"],
        toolchain=chosen["toolchain"],
        cpu=chosen["cpu"],
        shapes=parse_inputs(shapes),
        plan=read_plan(
            *(chosen[name] for name in ("plan", "prefer", "weights", "precision", "threads"))
        ),
    )
    shared = (name for name, default in defaults.items() if options.get(name, default) != default)
    given = tuple(
        option
        for option in (*(f"{letter}-{name}" for name in own), *shared)
        if option not in ("threads", f"{letter}-threads")  # which any binary takes
    )
    return Side(what, recipe, given_number(chosen["threads"]), given)


@task(
    positional=["a", "b"],
    auto_shortflags=False,
    iterable=["input"],
    optional=["wait"],
    help={
        "a": f"the baseline: {_WHAT}",
        "b": "what is set against it: as A",
        "launches": "of each side; default 20, at least 10 before a difference is called real",
        "input": INPUT_HELP,
        **_SHARED_HELP,
        **help_of(CONTROL),
        **help_of(_SIDES),
    },
)
@with_options(defaults_of(CONTROL | _SIDES))
@needs_engine
def ab(
    _: Context,
    a: str,
    b: str,
    input: list[str],
    device: str = "local",
    launches: int = 20,
    duet: bool = False,
    seed: int = DEFAULT,
    runs: int = DEFAULT,
    min_time_ms: int = DEFAULT,
    warmup: int = DEFAULT,
    timeout: float = 600.0,
    per_op: bool = False,
    trust_new: bool = False,
    results: str = "",
    json: bool = False,
    **given: Any,
) -> None:
    """Measure A and B in turns: the ratio of their times, and whether the difference is real."""
    from json import dumps

    from trimtab.bench.jobs import Settings
    from trimtab.cli._progress import shown
    from trimtab.compare import ab as workflow
    from trimtab.compare import verdicts
    from trimtab.reports.rendering import render_records
    from trimtab.results.folder import results_folder

    request = workflow.AbRequest(
        a=_side(a, "a", given, input),
        b=_side(b, "b", given, input),
        device=device,
        launches=launches,
        duet=duet,
        seed=given_number(seed),
        trust_new=trust_new,
        settings=Settings(
            warmup=given_number(warmup),
            runs=given_number(runs),
            min_time_ms=given_number(min_time_ms),
            timeout_s=timeout,
            per_op=per_op,
            control=parse_control(given),
        ),
    )
    progress = shown(quiet=json)
    found = workflow.compare(request, results_folder(results), progress)
    if json:
        runs_of = {"a": found.a.header.run_id, "b": found.b.header.run_id}
        values = verdicts.as_json(found.verdict)
        print(dumps({**values, "runs": runs_of, "record": str(found.path)}, indent=1))
    else:
        print(render_records([found.a, found.b]), end="")
        progress.note(f"recorded: {found.path}")
