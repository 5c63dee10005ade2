"""Is B faster than A? Interleaved rounds of both, judged against the device's noise floor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trimtab.cli._command import argument, changed, command, group, option, parse
from trimtab.cli._options import (
    INPUT_HELP,
    RESULTS_HELP,
    TRUST_HELP,
    ControlOptions,
    PlanOptions,
    RecipeOptions,
)
from trimtab.paths import PROGRAM

if TYPE_CHECKING:
    from trimtab.bench.jobs import Settings
    from trimtab.compare.arms import Arm

GROUP = "Measure"
NAMESPACE = "bench"

_ARM = "model file, zoo network, folder of `build`, or run to repeat (file, id, `last`)"


@dataclass(frozen=True, kw_only=True)
class ArmOptions:
    """How an arm that is a model is built; for both arms, or with a- or b- in front for one."""

    profile: str = option("contents of the binary; default: exactly what the model needs")
    toolchain: str = option("default: the device's")
    cpu: str = option("core to build for; default: the device's")
    plan: PlanOptions = group(PlanOptions)


@dataclass(frozen=True, kw_only=True)
class AbOptions:
    """Options of `bench.ab`."""

    a: str = argument(f"the baseline: {_ARM}")
    b: str = argument("what is compared with it: as A")
    input: tuple[str, ...] = option(INPUT_HELP, ())
    device: str = option(f"device to measure on ({PROGRAM} device)", "local")
    launches: int = option(
        "launches of each arm; default 20, at least 10 before a difference counts as real", 20
    )
    duet: bool = option("run both arms at the same time, on two cores that swap", False)
    seed: int | None = option("seed of the random order; default: a new one", None)
    runs: int | None = option("minimum of steady-state runs in each launch; default 5", None)
    min_time_ms: int | None = option(
        "minimum duration of the steady state in each launch; default 250", None
    )
    warmup: int | None = option("warm-up runs of each launch; default 3", None)
    timeout: float = option("seconds for one launch of the runner", 600.0)
    per_op: bool = option("also measure each operator, and compare those of both arms", False)
    trust_new: bool = option(TRUST_HELP, False)
    results: str = option(RESULTS_HELP)
    json: bool = option("print JSON", False)
    control: ControlOptions = group(ControlOptions)
    shared: ArmOptions = group(ArmOptions)
    only_a: ArmOptions = group(ArmOptions, "a_", "--{name} of A alone")
    only_b: ArmOptions = group(ArmOptions, "b_", "--{name} of B alone")

    def validate(self) -> None:
        """UsageError for invalid values; DeviceError for an unknown device."""
        from trimtab.devices import find_device

        find_device(self.device)
        self.settings()
        self.arms()

    def settings(self) -> Settings:
        """The settings of each launch; UsageError for invalid values."""
        from trimtab.bench.jobs import Settings

        return Settings(
            warmup=self.warmup,
            runs=self.runs,
            min_time_ms=self.min_time_ms,
            timeout_s=self.timeout,
            per_op=self.per_op,
            control=self.control.read(),
        )

    def arms(self) -> tuple[Arm, Arm]:
        """Both arms."""
        return self._arm(self.a, "a", self.only_a), self._arm(self.b, "b", self.only_b)

    def _arm(self, what: str, letter: str, options: ArmOptions) -> Arm:
        from trimtab.compare.arms import Arm

        shared, alone = changed(self.shared), changed(options)
        chosen = parse(ArmOptions, {**shared, **alone})
        network = RecipeOptions.of(chosen, model=what, input=self.input)
        recipe = network.read(chosen.plan.read(), cameras=False, views=False)
        # Threads apply to any binary, all else only to one that is still to be built.
        of_build = [*(f"{letter}-{name}" for name in alone if name != "threads")]
        of_build += [name for name in shared if name != "threads"]
        return Arm(what, recipe, chosen.plan.choices.threads, tuple(of_build))


@command(AbOptions, engine=True, short_options=False)
def ab(options: AbOptions) -> None:
    """Measure A and B in interleaved rounds: the ratio of their times, and whether it is real."""
    from trimtab.cli._progress import shown
    from trimtab.compare import ab as comparison
    from trimtab.compare import verdicts
    from trimtab.reports.rendering import render_records
    from trimtab.results.folder import results_folder
    from trimtab.strict_json import dumps

    a, b = options.arms()
    request = comparison.AbRequest(
        a=a,
        b=b,
        device=options.device,
        launches=options.launches,
        duet=options.duet,
        seed=options.seed,
        trust_new=options.trust_new,
        settings=options.settings(),
    )
    progress = shown(quiet=options.json)
    compared = comparison.compare(request, results_folder(options.results), progress)
    if options.json:
        run_ids = {"a": compared.a.header.run_id, "b": compared.b.header.run_id}
        values = verdicts.as_json(compared.verdict)
        print(dumps({**values, "runs": run_ids, "record": str(compared.path)}, indent=1))
    else:
        print(render_records([compared.a, compared.b]), end="")
        progress.note(f"recorded: {compared.path}")
