"""Build for a device, push, measure, record."""

from __future__ import annotations

from typing import Any

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._engine import needs_engine
from trimtab.cli._options import (
    BUDGET_HELP,
    CONTROL,
    DEFAULT,
    INPUT_HELP,
    PLAN_HELP,
    PRECISE,
    PRECISION_HELP,
    PREFER_HELP,
    RESULTS_HELP,
    THREADS_HELP,
    WEIGHTS_HELP,
    defaults_of,
    given_number,
    help_of,
    parse_budget,
    parse_calibration,
    parse_control,
    parse_inputs,
    read_plan,
    with_options,
)

GROUP = "Measure"
NAMESPACE = "bench"


@task(
    default=True,
    auto_shortflags=False,  # there are more options than letters
    iterable=["input"],
    optional=["wait"],
    help={
        "model": "model file or zoo network; default: the zoo's network of the profile's family",
        "profile": "what the binary holds: a name or a file; default: just what the model needs",
        "device": "where to measure (./inv devices)",
        "toolchain": "default: the device's",
        "cpu": "core to build for, e.g. cortex-a53; default: the device's",
        "input": INPUT_HELP,
        "plan": PLAN_HELP,
        "prefer": PREFER_HELP,
        "weights": WEIGHTS_HELP,
        "precision": PRECISION_HELP,
        **help_of(PRECISE),
        **BUDGET_HELP,
        **help_of(CONTROL),
        "embed-model": "link the model into the binary",
        "threads": THREADS_HELP,
        "launches": "of the runner; default 10, emulated 1",
        "runs": "steady-state runs of all launches at least; default 30, emulated 2",
        "warmup": "runs before them in each launch; default 3, emulated 0",
        "min-time-ms": "steady state of all launches at least; default 5000, emulated 0",
        "timeout": "seconds for one launch of the runner",
        "per-op": "also measure each operator",
        "energy": "joules per inference, where the device tells (takes 20 s more)",
        "counters": "count cycles, cache misses, stalls, ... where the kernel gives them",
        "trust-new": "pin the host key of a device that was never seen",
        "results": RESULTS_HELP,
        "output": "also write the report to this file",
        "format": "of that file: markdown (default), html, or another of docs/bench.md#formats",
        "json": "print the report as JSON",
    },
)
@with_options(defaults_of(CONTROL | PRECISE))
@needs_engine
def run(
    _: Context,
    input: list[str],
    model: str = "",
    profile: str = "",
    device: str = "local",
    toolchain: str = "",
    cpu: str = "",
    plan: str = "",
    prefer: str = "",
    weights: str = "",
    precision: str = "",
    max_model_bytes: str = "",
    max_binary_bytes: str = "",
    max_memory: str = "",
    embed_model: bool = False,
    threads: int = DEFAULT,
    launches: int = DEFAULT,
    runs: int = DEFAULT,
    warmup: int = DEFAULT,
    min_time_ms: int = DEFAULT,
    timeout: float = 600.0,
    per_op: bool = False,
    counters: bool = False,
    energy: bool = False,
    trust_new: bool = False,
    results: str = "",
    output: str = "",
    format: str = "markdown",
    json: bool = False,
    **given: Any,
) -> None:
    """Build a model's binary, measure it on a device and record the run."""
    from trimtab.bench.jobs import Settings
    from trimtab.cli._progress import shown
    from trimtab.cli.report import show
    from trimtab.pipeline.measured import bench
    from trimtab.pipeline.recipe import Measurement, Recipe
    from trimtab.reports.rendering import check_format, render_run
    from trimtab.results.folder import results_folder

    settings = Settings(
        launches=given_number(launches),
        runs=given_number(runs),
        warmup=given_number(warmup),
        min_time_ms=given_number(min_time_ms),
        timeout_s=timeout,
        per_op=per_op,
        counters=counters,
        energy=energy,
        control=parse_control(given),
    )
    check_format(format, output)
    folder, progress = results_folder(results), shown(quiet=json)
    recipe = Recipe(
        model=model,
        profile=profile,
        toolchain=toolchain,
        cpu=cpu,
        shapes=parse_inputs(input),
        plan=read_plan(plan, prefer, weights, precision, threads),
        calibration=parse_calibration(given),
        embed_model=embed_model,
        budget=parse_budget(max_model_bytes, max_binary_bytes, max_memory, prefer),
        measurement=Measurement(device, settings, folder, trust_new),
    )
    outcome = bench(recipe, progress).outcome
    if outcome.error is not None:
        progress.note(f"recorded: {outcome.path}")
        raise outcome.error
    run = str(outcome.path)
    show(render_run(run, folder, "json" if json else "terminal"), "")
    if output:
        show(render_run(run, folder, format), output)
