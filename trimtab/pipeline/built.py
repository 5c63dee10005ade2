"""The fourth stage of the pipeline: a planned network and its binary."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from trimtab import importers, paths, size
from trimtab.bench import archive
from trimtab.bench.jobs import Subject
from trimtab.build.builder import Build
from trimtab.build.toolchain import find_toolchain
from trimtab.errors import UsageError
from trimtab.paths import PROGRAM
from trimtab.pipeline import delivery
from trimtab.pipeline.planned import Planned
from trimtab.pipeline.recipe import Recipe
from trimtab.pipeline.recorded import RecordedRecipe
from trimtab.pipeline.variants import NCNN, ncnn_bytes
from trimtab.program import inspection
from trimtab.progress import SILENT, Progress
from trimtab.results.footprint import Footprint

_MEASURED = 64  # builds that are kept in the cache; those of a moment ago may be in use
PLAN = "plan.toml"  # delivered after a search of precisions, so that the next build can skip it


@dataclass(frozen=True)
class Built:
    """A delivered build. `model`: the planned model file; None if only the binary holds it."""

    planned: Planned
    delivered: Build
    model: Path | None

    @property
    def recipe(self) -> Recipe:
        """The recipe with its toolchain filled in."""
        return self.planned.recipe


def build(planned: Planned, progress: Progress = SILENT) -> Built:
    """Builds and delivers the binary of a planned network; errors of `builder.build`."""
    recipe, profile, stem = planned.recipe, planned.profile, planned.stem
    network = planned.loaded.network
    search = network.search or network.stored
    texts: dict[str, str | bytes] = {}
    if search and recipe.measurement is None:
        texts[PLAN] = planned.plan.to_toml("\n".join((stem, *search.lines())))
    texts |= {f"{stem}{suffix}": data for suffix, data in planned.loaded.beside.items()}
    with _workspace(planned) as (folder, output):
        model = folder / f"{stem}.ttm"
        recorded = planned.loaded.recorded or RecordedRecipe.of(recipe)
        delivered = delivery.deliver(
            recipe, profile, output, planned.program, model, progress, texts, recorded.to_json()
        )
    return Built(planned, delivered, model if recipe.measurement else delivered.model)


def build_profile(recipe: Recipe, progress: Progress = SILENT) -> Build:
    """Builds the binary of a recipe that names a profile and no model; errors of `builder.build`.

    UsageError if it names no profile either, or has a budget.
    """
    if not recipe.profile:
        raise UsageError(
            "neither a model nor a profile is named",
            hint=f"--model FILE, --profile NAME ({PROGRAM} profile), or both",
        )
    if recipe.budget:
        raise UsageError("a budget needs a model", hint="name one with --model")
    profile = delivery.profile_for(recipe, recipe.plan)
    output = recipe.output or _default_output(profile.name, recipe)
    made_from = RecordedRecipe.of(recipe).to_json()
    return delivery.deliver(recipe, profile, output, progress=progress, made_from=made_from)


def footprints(built: Built, progress: Progress = SILENT) -> list[Footprint]:
    """The size of what was built, and of its alternatives: the other preferences of the plan,
    smaller weights, the source model, and ncnn's file.
    """
    planned = built.planned
    variants = planned.variants
    with progress.step("measure the size of the alternatives"):
        own = replace(
            variants.footprint(planned.program, f"prefer {planned.plan.prefer}"),
            binary_bytes=built.delivered.runner.stat().st_size,
            is_built=True,
        )
        if planned.recipe.embed_model:
            own = replace(own, model_bytes=0)
        others = [*variants.others()]
        path = planned.loaded.path
        source_bytes = sum(file.stat().st_size for file in importers.files(path))
    return [
        *(own, *others, Footprint(f"{path.name} (source)", source_bytes)),
        Footprint(NCNN, ncnn_bytes(planned.optimized)),
    ]


def subject_of(built: Built) -> Subject:
    """The binary and its model as the subject of a measurement.

    UsageError if the model lies only inside the binary: the recipe asked for no measurement.
    """
    recipe, planned, network = built.recipe, built.planned, built.planned.loaded.network
    if built.model is None:
        raise UsageError(
            "the model lies only inside the binary, so the binary cannot be measured",
            where=str(built.delivered.output_dir),
            hint="build it for a measurement",
        )
    return Subject(
        binary=built.delivered.runner,
        model=built.model,
        is_model_embedded=recipe.embed_model,
        profile=recipe.profile or planned.profile_label,
        toolchain=recipe.toolchain,
        cpu=find_toolchain(recipe.toolchain).core(recipe.cpu).name,
        compiler=built.delivered.compiler,
        flags=built.delivered.flags,
        operators=[f"{op.type} {op.name}" for op in planned.program.ops],
        network=inspection.network(planned.program, network.program),
        size=size.measure(built.delivered.runner).to_json(),
        accuracy=network.accuracy,
        search=network.search,
        made_from=built.delivered.record["made_from"],
    )


def _default_output(stem: str, recipe: Recipe) -> Path:
    return Path("dist", f"{stem}-{recipe.toolchain or 'host'}")


@contextmanager
def _workspace(planned: Planned) -> Iterator[tuple[Path, Path]]:
    """The folders of the model file and of the build; a measured build keeps both."""
    recipe = planned.recipe
    if recipe.measurement is None:
        with tempfile.TemporaryDirectory(prefix="trimtab-") as scratch:
            yield Path(scratch), recipe.output or _default_output(planned.stem, recipe)
        return
    core = find_toolchain(recipe.toolchain).core(recipe.cpu).name
    # What is measured at the same time with another file or other options has another folder.
    model = Path(recipe.model)
    text = str(model.absolute()) if model.exists() else recipe.model  # a file, or of the zoo
    request = repr(replace(recipe, model=text, measurement=None)), recipe.plan.to_toml()
    place = hashlib.sha256("".join(request).encode()).hexdigest()[:8]
    name = "-".join((planned.stem, planned.profile_label, recipe.toolchain, core, place))
    folder = recipe.output or paths.cache() / "bench" / name
    yield folder, folder / "build"
    if not recipe.output:
        archive.trim(folder.parent, _MEASURED)
