"""The third stage of the pipeline: a network planned for its machine, before anything is built."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from trimtab import passes
from trimtab.bench.golden import Golden
from trimtab.errors import BudgetError
from trimtab.pipeline import delivery, reference
from trimtab.pipeline.loaded import Loaded
from trimtab.pipeline.recipe import Recipe
from trimtab.pipeline.variants import Variant, Variants
from trimtab.planner import planner
from trimtab.planner.plan_file import Plan
from trimtab.planner.profile_overhead import profile_overhead
from trimtab.profile import Profile
from trimtab.program import Program
from trimtab.program.memory import activation_bytes, constant_bytes, prepared_bytes
from trimtab.progress import SILENT, Progress
from trimtab.target import Target

_DEFAULT_BYTES = 2**31 - 1
_PREPARED_GROWTH = 8


@dataclass(frozen=True)
class Planned:
    """A network ready to be built. `plan`: the plan as decided, with the preference that fits the
    recipe's budget; `optimized`: the network before, `program`: after planning; `profile`: what the
    binary holds. `expected`: the outputs that the binary must compute; None if the recipe does not
    ask for a measurement.
    """

    loaded: Loaded
    plan: Plan
    optimized: Program
    program: Program
    profile: Profile
    expected: Golden | None = None

    @property
    def recipe(self) -> Recipe:
        """The recipe with its toolchain filled in."""
        return self.loaded.recipe

    @property
    def stem(self) -> str:
        """The name of the model's file, without suffix."""
        if self.recipe.measurement:
            return self.loaded.stem
        return Path(self.recipe.model).stem or self.profile.name

    @property
    def profile_label(self) -> str:
        """The name of the recipe's profile, or "trimmed"."""
        return self.profile.name if self.recipe.profile else "trimmed"

    @property
    def variants(self) -> Variants:
        """The plan beside those of the other preferences."""
        return _variants(self.loaded, self.optimized, self.plan)

    def with_profile(self, profile: str) -> Planned:
        """The same plan, to be built into the binary of the named profile."""
        recipe = replace(self.recipe, profile=profile)
        return replace(
            self,
            loaded=replace(self.loaded, recipe=recipe),
            profile=delivery.profile_for(recipe, self.plan),
        )


def plan(loaded: Loaded, progress: Progress = SILENT) -> Planned:
    """Optimizes and plans a network; for a measurement, also computes the expected outputs.

    ProfileError if no plan lies within the recipe's profile; BudgetError if no preference fits its
    budget, and as in `check_memory`.
    """
    recipe, target = loaded.recipe, loaded.target
    optimized = passes.optimize(loaded.network.program)
    if recipe.budget:
        with progress.step(f"find a plan that fits the budget on {recipe.machine}"):
            chosen, program = _within_budget(loaded, optimized, progress)
    else:
        chosen = loaded.network.plan
        with progress.step(f"plan it for {recipe.machine}"):
            program = planner.plan(optimized, target, chosen)
    check_memory(program, target)
    if target.profile:
        overhead = profile_overhead(optimized, target, chosen)
        progress.note(f"within the profile {target.profile.name}: {overhead}")
    expected = None
    if recipe.measurement:
        with progress.step("compute the expected output"):
            expected = reference.expected_output(loaded)
    profile = delivery.profile_for(recipe, chosen, program)
    return Planned(loaded, chosen, optimized, program, profile, expected)


def check_memory(program: Program, target: Target) -> None:
    """BudgetError if a planned network needs more memory than an engine on `target` takes: more
    than a process can address, or than the engine allows without a limit of the caller
    (kDefaultModelBytes of runtime/core/executor.h).
    """
    constants = constant_bytes(program)
    needed = activation_bytes(program) + prepared_bytes(program)
    allowed = min(_DEFAULT_BYTES + _PREPARED_GROWTH * constants, target.address_bytes - constants)
    if needed > allowed:
        raise BudgetError(
            f"the network needs {needed:,} bytes for activations and prepared weights, and its"
            f" file {constants:,}",
            where=f"{program.name}, planned for {target.name}",
            hint="use smaller inputs: an engine takes 2 GiB for activations, and on 32-bit"
            " machines 2 GiB in all",
        )


def _variants(loaded: Loaded, optimized: Program, plan: Plan) -> Variants:
    recipe = loaded.recipe
    # A planned or quantized network has no smaller weights.
    bare = loaded.bare if not loaded.bare.planned else None
    return Variants(optimized, loaded.target, plan, recipe.strings, recipe.embed_model, bare)


def _within_budget(loaded: Loaded, optimized: Program, progress: Progress) -> tuple[Plan, Program]:
    """The fastest preference that fits the recipe's budget, and the network planned with it."""
    recipe = loaded.recipe
    variants = _variants(loaded, optimized, loaded.network.plan)

    def binary_bytes(variant: Variant) -> int:
        profile = delivery.profile_for(recipe, variant.plan, variant.program)
        return delivery.runner_bytes(recipe, variant.program, profile, progress)

    candidates = ((variant, variant.footprint) for variant in variants.planned())
    chosen, _ = recipe.budget.choose(candidates, binary_bytes)
    return chosen.plan, chosen.program
