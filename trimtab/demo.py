"""The main job on an embedded default: what `./inv demo` does, step by step.

A YOLO-class network is built on the spot, optimized, trimmed, cross-compiled for aarch64, pushed
over SSH to an ARM Linux that runs in QEMU, checked there against an independent implementation and
measured; its latency comes from the build for this machine. Where the board cannot be had the demo
goes on with QEMU's user mode, or with this machine alone, and says so.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import trimtab
from trimtab import doctor, files, paths, reports
from trimtab.bench import oracle, protocol
from trimtab.bench.golden import Golden
from trimtab.bench.jobs import Settings, Subject
from trimtab.compare import side_by_side
from trimtab.devices import DeviceDefinition, board, find_device
from trimtab.errors import DeviceError, EmulatorError, MissingRequirementError
from trimtab.pipeline.build import Recipe, machine_of, subject_of
from trimtab.pipeline.resolve import model_path, target_of
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.results import records, summary
from trimtab.results.records import Record

NETWORK = "yolo_fastest"
_BOARD_NEEDS = ("qemu-system-aarch64",)  # as doctor calls it
_USER_MODE = "qemu-a53"


@dataclass(frozen=True)
class Demonstrated:
    """What the demo leaves behind: one record per run, the report of all in two formats, and what
    it comes to, as text for a terminal.
    """

    records: tuple[Path, ...]
    markdown: Path
    html: Path
    text: str


def demo(folder: Path, progress: Progress = SILENT) -> Demonstrated:
    """Do it all; records and reports go into `folder`. Raises the first TrimtabError."""
    progress.note(
        f"Python packages are in {paths.root() / '.venv'} (./inv put them there); builds, compiler "
        f"caches and the board's system go into {paths.cache()}, results into {folder}"
    )
    return _Demo(folder, progress).run()


class _Demo:
    """The steps; holds what they share."""

    def __init__(self, folder: Path, progress: Progress) -> None:
        self._folder, self._progress = folder, progress

    def run(self) -> Demonstrated:
        """All steps in order."""
        with self._progress.step("an ARM Linux to measure on"):
            device, is_ours = self.find_device()
        try:
            with self._progress.step(f"the network: {NETWORK} from the zoo, seeded weights"):
                path = model_path(NETWORK, progress=self._progress)
                source = trimtab.load(path)
                expected = oracle.onnx_golden(path, {})
                made = f"expected output from {expected.oracle}"
                self._progress.note(f"{len(source.ops)} operators; {made}")
            record_files = self._full_and_trimmed(device or find_device("local"), source, expected)
            if device is not None:
                record_files += self._latency_here(source, expected)
        finally:
            if is_ours:
                board.down()
        return _report(record_files, self._folder)

    def find_device(self) -> tuple[DeviceDefinition | None, bool]:
        """The board, or what there is instead; and whether the board was started here."""
        note = self._progress.note
        try:
            # Only these packages: `./inv setup` would install every cross compiler as well.
            missing = [r for r in doctor.examine() if r.name in _BOARD_NEEDS and not r.found]
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
            note(f"going on with QEMU's user mode ({device.name}): no SSH, no Linux of its own")
            return device, False
        note("going on with this machine alone: no ARM code is run")
        return None, False

    def _full_and_trimmed(
        self, device: DeviceDefinition, source: Program, expected: Golden
    ) -> list[Path]:
        """Records of the full configuration, which is the baseline, and the trimmed one."""
        trimmed = Recipe(toolchain=device.toolchain, cpu=device.cpu or "")
        full = Recipe(profile="full", toolchain=device.toolchain, cpu=device.cpu or "")
        with self._progress.step(f"optimize, trim and build for {machine_of(trimmed)}"):
            program = trimtab.optimize(source, target_of(trimmed.toolchain, trimmed.cpu))
            self._progress.note(f"{len(source.ops)} operators optimized to {len(program.ops)}")
            subjects = [subject_of(program, recipe, self._progress) for recipe in (full, trimmed)]
            of_full, of_trimmed = (subject.binary.stat().st_size for subject in subjects)
            share = f"{of_trimmed / of_full:.0%}"
            self._progress.note(f"full {of_full:,} bytes, trimmed {of_trimmed:,} bytes ({share})")
        with self._progress.step(f"push to {device.name}, check the output, measure"):
            return [self._measure(device, subject, expected) for subject in subjects]

    def _latency_here(self, source: Program, expected: Golden) -> list[Path]:
        """The record of the trimmed configuration on this machine, whose clock can be believed."""
        with self._progress.step("latency of the build for this machine"):
            program = trimtab.optimize(source, target_of("host", ""))
            subject = subject_of(program, Recipe(toolchain="host"), self._progress)
            return [self._measure(find_device("local"), subject, expected)]

    def _measure(self, device: DeviceDefinition, subject: Subject, expected: Golden) -> Path:
        with device.open() as opened:
            settings = Settings(per_op=subject.profile != "full")  # the operators cost the same
            outcome = protocol.measure(
                opened, subject, expected, settings, self._folder, self._progress
            )
        if outcome.error is not None:
            raise outcome.error
        found = summary.summarize(records.read(outcome.path))
        if latency := found.figure("latency"):
            cost = f"{latency.value / 1e6:.2f} ms for one inference"
            self._progress.note(f"{subject.profile}: {cost}")
        elif count := found.figure("latency_instructions"):
            cost = f"{count.value:,.0f} instructions for one inference"
            self._progress.note(f"{subject.profile}: {cost}")
        self._progress.note(f"{subject.profile}: {found.golden}")
        return outcome.path


def _report(record_files: Sequence[Path], folder: Path) -> Demonstrated:
    runs: list[Record] = [records.read(path) for path in record_files]
    compared = side_by_side.compare(runs[:2])
    alone = [summary.summarize(run) for run in runs[1:]]
    markdown, page = reports.find("markdown"), reports.find("html")
    parts = [markdown.comparison(compared), *(markdown.run(one) for one in alone)]
    in_markdown, in_html = folder / "demo.md", folder / "demo.html"
    files.write_text(in_markdown, "\n".join(parts))
    files.write_text(in_html, page.comparison(compared))
    text = reports.find("terminal").comparison(compared)
    if (latency := alone[-1].figure("latency")) and len(runs) > 2:
        low, high = latency.statistic.interval.low / 1e6, latency.statistic.interval.high / 1e6
        text += (
            f"On this machine, one thread: {latency.value / 1e6:.2f} ms for one inference "
            f"(95 % interval of the median {low:.2f} .. {high:.2f} ms)\n"
        )
    text += f"Report: {in_markdown}, {in_html}; runs: ./inv report --results {folder}"
    return Demonstrated(tuple(record_files), in_markdown, in_html, text)
