"""Builds once more what a record describes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trimtab import __version__, files, paths, strict_json
from trimtab.build.builder import Build
from trimtab.build.output import RECORD
from trimtab.errors import ResultError, VerificationError
from trimtab.learning import loaded as training_step
from trimtab.learning.prepared import prepare, training_files
from trimtab.learning.request import TrainingRequest
from trimtab.paths import PROGRAM
from trimtab.pipeline.built import build, build_profile
from trimtab.pipeline.loaded import load
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recorded import RecordedRecipe
from trimtab.progress import SILENT, Progress
from trimtab.results import records


@dataclass(frozen=True)
class RecordedBuild:
    """A build in a record. `digests`: the SHA-256 of its files, by name; `folder`: where the
    files are, None for a run, which keeps none; `tools`: the version of trimtab, and the
    compiler.
    """

    where: Path
    made_from: RecordedRecipe
    digests: Mapping[str, str]
    folder: Path | None
    tools: tuple[str, str]

    @staticmethod
    def of_folder(folder: Path) -> RecordedBuild:
        """The record of a folder that `build` has made; ResultError for any other."""
        where = folder / RECORD
        try:
            record: dict[str, Any] = strict_json.loads(where.read_text(encoding="utf-8"))
            digests = {str(name): str(facts["sha256"]) for name, facts in record["files"].items()}
            tools = str(record["trimtab"]), str(record["compiler"])
        except (OSError, *records.WRONG) as error:
            raise ResultError(
                f"not the record of a build: {error}",
                where=str(where),
                hint=f"name a folder that {PROGRAM} build has made, or a run",
            ) from None
        made_from = RecordedRecipe.read(record.get("made_from"), where)
        return RecordedBuild(where, made_from, digests, folder, tools)

    @staticmethod
    def of_run(path: Path) -> RecordedBuild:
        """The binary and the model of a run, by its record; errors of `records.read`."""
        header = records.read(path).header
        digests = {RUNNER: header.binary.sha256, header.model.name: header.model.sha256}
        made_from = RecordedRecipe.read(header.made_from, path)
        # Records of runs name the compiler, and not the version of trimtab.
        return RecordedBuild(path, made_from, digests, None, ("", header.compiler))

    def changed(self) -> list[str]:
        """The files of the folder that are not those of the record, or are missing."""
        folder = self.folder
        if folder is None:
            return []
        return [
            name
            for name, digest in self.digests.items()
            if not (folder / name).is_file() or files.sha256(folder / name) != digest
        ]


RUNNER = "trimtab-run"


@contextmanager
def rebuilt(
    recorded: RecordedBuild, model: str = "", progress: Progress = SILENT
) -> Iterator[tuple[Build, Mapping[str, Path]]]:
    """Builds a recorded recipe in a temporary folder; yields the build and the file for each name
    of the record, as far as there is one.

    No tree and no object of an earlier build is used, but the toolchain's own C library. `model`:
    where the model lies now. VerificationError if a source is not the file that was built; errors
    of the build.
    """
    with tempfile.TemporaryDirectory(prefix="trimtab-verify-") as name:
        scratch = Path(name)
        recipe = recorded.made_from.for_output(scratch / "out", recorded.where)
        request = _request(recorded, model)
        if request is None:
            recipe = replace(recipe, model=model or recipe.model)
        read = training_files(request) if request else ()
        _check_sources(recorded, RecordedRecipe.of(recipe, request, read).sources)
        with _fresh_cache(scratch / "cache"):
            if not (recipe.model or request):
                delivered, planned = build_profile(recipe, progress), None
            else:
                loaded = (
                    training_step.load(recipe, prepare(request, progress))
                    if request
                    else load(recipe, progress)
                )
                result = build(plan(loaded, progress), progress)
                delivered, planned = result.delivered, result.model
        rebuilt_files = {file: delivered.output_dir / file for file in recorded.digests}
        for file, path in rebuilt_files.items():
            if file.endswith(".ttm") and planned and not path.is_file():
                rebuilt_files[file] = planned
        yield delivered, {file: path for file, path in rebuilt_files.items() if path.is_file()}


def _request(recorded: RecordedBuild, model: str) -> TrainingRequest | None:
    """The training that a record is of, whose model or solver lies at `model` now."""
    if not recorded.made_from.training:
        return None
    request = recorded.made_from.request(TrainingRequest, recorded.where)
    if request.solver:
        return replace(request, solver=model or request.solver)
    return replace(request, model=model or request.model)


def tools_differ(recorded: RecordedBuild, delivered: Build) -> str:
    """How the tools of the two builds differ, as a sentence; "" if they do not."""
    now = __version__, delivered.compiler
    differing = [
        f"{then}, here {own}"
        for then, own in zip(recorded.tools, now, strict=True)
        if then and then != own
    ]
    return f"Other tools made the record: {'; '.join(differing)}." if differing else ""


def _check_sources(recorded: RecordedBuild, present: Mapping[str, str]) -> None:
    digests = set(present.values())
    for path, digest in recorded.made_from.sources.items():
        if digest not in digests:
            state = "has changed since the build" if Path(path).exists() else "does not exist here"
            raise VerificationError(
                f"{path} {state}: its SHA-256 was {digest}",
                where=str(recorded.where),
                hint="name the model of that time with --model FILE, in the folder of the build",
            )


@contextmanager
def _fresh_cache(folder: Path) -> Iterator[None]:
    """An empty cache for the builds inside, with the C library that zig has compiled."""
    folder.mkdir()
    paths.zig_cache().mkdir(parents=True, exist_ok=True)
    files.link_folder(folder / "zig", paths.zig_cache())
    before = os.environ.get("TRIMTAB_CACHE_DIR")
    os.environ["TRIMTAB_CACHE_DIR"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["TRIMTAB_CACHE_DIR"]
        else:
            os.environ["TRIMTAB_CACHE_DIR"] = before
