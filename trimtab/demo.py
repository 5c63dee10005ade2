"""The main job on an embedded device, step by step, as `./inv demo` shows it.

A YOLO-class network from the zoo is optimized, trimmed and cross-compiled for aarch64, pushed over
SSH to an ARM Linux in QEMU, checked there against an independent engine, and measured. Its latency
comes from a build for this machine. Without the board, the demo continues in QEMU's user mode or on
this machine alone, and reports that.
"""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from trimtab import doctor, files, paths, reports
from trimtab.bench import protocol
from trimtab.bench.golden import Golden
from trimtab.bench.jobs import Settings, Subject
from trimtab.build import host_build
from trimtab.compare import side_by_side
from trimtab.devices import DeviceDefinition, board, find_device
from trimtab.errors import DeviceError, EmulatorError, MissingRequirementError, TrimtabError
from trimtab.paths import PROGRAM
from trimtab.pipeline import delivery
from trimtab.pipeline.built import build, subject_of
from trimtab.pipeline.loaded import Loaded, load
from trimtab.pipeline.measured import expected_output
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import MeasurementRequest, Recipe
from trimtab.progress import SILENT, Progress
from trimtab.results import records, summary
from trimtab.results.records import Record

NETWORK = "yolo_fastest"
_BOARD_NEEDS = ("qemu-system-aarch64",)  # a name of doctor's
_USER_MODE = "qemu-a53"


@dataclass(frozen=True)
class DemoResult:
    """The run records of the demo, its report in two formats, and a summary for the terminal."""

    records: tuple[Path, ...]
    markdown: Path
    html: Path
    text: str


def demo(folder: Path, progress: Progress = SILENT) -> DemoResult:
    """Runs all steps; records and reports go into `folder`. Raises the first TrimtabError."""
    progress.note(
        f"Python packages are in {sys.prefix}; builds, compiler caches and the board's system go "
        f"into {paths.cache()}, results into {folder}"
    )
    return Demo(folder, progress).run()


class Demo:
    """The steps and what they share."""

    def __init__(self, folder: Path, progress: Progress) -> None:
        self._folder, self._progress = folder, progress

    def run(self) -> DemoResult:
        """All steps in order."""
        with self._progress.step("an ARM Linux to measure on"):
            device, is_ours = self.find_device()
        try:
            target = device or find_device("local")
            if device is not None:
                threading.Thread(target=_compile_full, args=(self._recipe(device),)).start()
            host_build.build_engine(self._progress)
            with self._progress.step(f"the network: {NETWORK} from the zoo, seeded weights"):
                loaded = load(self._recipe(target), self._progress)
                self._progress.note(f"{len(loaded.source.ops)} operators")
            record_files = self._full_and_trimmed(target, loaded)
            if device is not None:
                record_files += self._latency_here()
        finally:
            if is_ours:
                board.down()
        return _report(record_files, self._folder)

    def find_device(self) -> tuple[DeviceDefinition | None, bool]:
        """The board or its substitute, None for this machine; and whether the demo started it."""
        note = self._progress.note
        try:
            # Only these packages: `./inv setup` would install every cross compiler as well.
            missing = [r for r in doctor.examine() if r.name in _BOARD_NEEDS and not r.location]
            if missing:
                doctor.install(missing, self._progress)
            is_running = board.status() is not None
            state = board.up(progress=self._progress)
            note(f"{state.cpu_model} in QEMU, SSH server on 127.0.0.1:{state.port}")
            return find_device("board"), not is_running
        except (MissingRequirementError, DeviceError, EmulatorError) as error:
            note(f"no board: {error}")
        device = find_device(_USER_MODE)
        if shutil.which(str(device.options["program"])):
            note(f"continuing in QEMU's user mode ({device.name}): no SSH, no Linux of its own")
            return device, False
        note("continuing on this machine alone: no ARM code is run")
        return None, False

    def _recipe(self, device: DeviceDefinition) -> Recipe:
        measurement = MeasurementRequest(device.name, results=self._folder)
        return Recipe(model=NETWORK, measurement=measurement).on_device(device)

    def _full_and_trimmed(self, device: DeviceDefinition, loaded: Loaded) -> list[Path]:
        """Records of the full profile, which is the baseline, and of the trimmed one."""
        with self._progress.step(f"optimize, trim and build for {loaded.recipe.machine}"):
            planned = plan(loaded, self._progress)
            count = f"{len(loaded.source.ops)} operators optimized to {len(planned.program.ops)}"
            self._progress.note(count)
            builds = [build(one, self._progress) for one in (planned.with_profile("full"), planned)]
            full, trimmed = (built.delivered.runner.stat().st_size for built in builds)
            share = f"{trimmed / full:.0%}"
            self._progress.note(f"full {full:,} bytes, trimmed {trimmed:,} bytes ({share})")
        expected = expected_output(builds[0])
        self._progress.note(f"expected output from {expected.oracle}")
        with self._progress.step(f"push to {device.name}, check the output, measure"):
            return [self._measure(device, subject_of(built), expected) for built in builds]

    def _latency_here(self) -> list[Path]:
        """The record of the trimmed profile on this machine, whose clock is real."""
        with self._progress.step("latency of the build for this machine"):
            device = find_device("local")
            recipe = replace(self._recipe(device), toolchain="host", cpu="")
            built = build(plan(load(recipe, self._progress), self._progress), self._progress)
            return [self._measure(device, subject_of(built), expected_output(built))]

    def _measure(self, device: DeviceDefinition, subject: Subject, expected: Golden) -> Path:
        with device.open() as connection:
            settings = Settings(per_op=subject.profile != "full")  # its operators cost the same
            outcome = protocol.measure(
                connection, subject, expected, settings, self._folder, self._progress
            )
        if outcome.error is not None:
            raise outcome.error
        run = summary.summarize(records.read(outcome.path))
        if latency := run.figure("latency"):
            cost = f"{latency.value / 1e6:.2f} ms for one inference"
            self._progress.note(f"{subject.profile}: {cost}")
        elif count := run.figure("latency_instructions"):
            cost = f"{count.value:,.0f} instructions for one inference"
            self._progress.note(f"{subject.profile}: {cost}")
        self._progress.note(f"{subject.profile}: {run.golden}")
        return outcome.path


def _compile_full(recipe: Recipe) -> None:
    """Compiles the full profile, which needs no engine; `build` takes the objects from the cache.

    The engine leaves one of two processors idle while zig compiles its C++ library.
    """
    profile = delivery.profile_for(replace(recipe, profile="full"), recipe.plan)
    with tempfile.TemporaryDirectory() as folder, suppress(TrimtabError):  # `build` raises it
        delivery.deliver(recipe, profile, Path(folder) / "full")


def _report(record_files: Sequence[Path], folder: Path) -> DemoResult:
    runs: list[Record] = [records.read(path) for path in record_files]
    comparison = side_by_side.compare(runs[:2])
    alone = [summary.summarize(run) for run in runs[1:]]
    markdown, page = reports.find("markdown"), reports.find("html")
    sections = [markdown.comparison(comparison), *(markdown.run(one) for one in alone)]
    markdown_path, html_path = folder / "demo.md", folder / "demo.html"
    files.write_text(markdown_path, "\n".join(sections))
    files.write_text(html_path, page.comparison(comparison))
    text = reports.find("terminal").comparison(comparison)
    if (latency := alone[-1].figure("latency")) and len(runs) > 2:
        low, high = latency.statistic.interval.low / 1e6, latency.statistic.interval.high / 1e6
        text += (
            f"On this machine, one thread: {latency.value / 1e6:.2f} ms for one inference "
            f"(95 % interval of the median {low:.2f} .. {high:.2f} ms)\n"
        )
    text += f"Report: {markdown_path}, {html_path}; runs: "
    text += f"{PROGRAM} report --results {shlex.quote(str(folder))}"
    return DemoResult(tuple(record_files), markdown_path, html_path, text)
