"""The main job on an embedded default: what `./inv demo` does, step by step.

A YOLO-class network is built on the spot, optimised, trimmed, cross-compiled for aarch64, pushed
over SSH to an ARM Linux that runs in QEMU, checked there against an independent implementation and
measured; its latency comes from the build for this machine. Where the board cannot be had the demo
goes on with QEMU's user mode, or with this machine alone, and says so.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import trimtab
from trimtab import files, paths, reports
from trimtab.bench import oracle, protocol, results, summary
from trimtab.bench.golden import Golden
from trimtab.bench.protocol import Settings, Subject
from trimtab.devices import Definition, board, find_device
from trimtab.errors import DeviceError, EmulatorError, MissingRequirementError
from trimtab.program import Program
from trimtab.workflow import doctor
from trimtab.workflow.build import build_subject
from trimtab.workflow.models import model_path, target_of
from trimtab.workflow.progress import say

NETWORK = "yolo_fastest"
_BOARD_NEEDS = ("qemu-system-aarch64", "cpio", "ssh-keygen")  # as doctor calls them
_USER_MODE = "qemu-a53"


@dataclass(frozen=True)
class Files:
    """What the demo leaves behind: one record per run, and the report of all in two formats."""

    records: tuple[Path, ...]
    markdown: Path
    html: Path


def run(folder: Path) -> Files:
    """Do it all; records and reports go into `folder`. Raises the first TrimtabError."""
    say(
        f"Python packages are in {paths.root() / '.venv'} (./inv put them there); builds, compiler "
        f"caches and the board's system go into {paths.cache()}, results into {folder}"
    )
    with _step("an ARM Linux to measure on"):
        device, is_ours = _find_device()
    try:
        with _step(f"the network: {NETWORK} from the zoo, seeded weights"):
            path = model_path(NETWORK)
            source = trimtab.load(path)
            expected = oracle.onnx_golden(path, {})
            _note(f"{len(source.ops)} operators; expected output from {expected.oracle}")
        records = _full_against_trimmed(device or find_device("local"), source, expected, folder)
        if device is not None:
            records += _latency_here(source, expected, folder)
    finally:
        if is_ours:
            board.down()
    return _report(records, folder)


def _find_device() -> tuple[Definition | None, bool]:
    """The board, or what there is instead; and whether the board was started here."""
    try:
        # Only these packages: `./inv setup` would install every cross compiler as well.
        missing = [r for r in doctor.examine() if r.name in _BOARD_NEEDS and not r.found]
        if missing:
            doctor.install(missing)
        is_running = board.status() is not None
        state = board.up(report=_note)
        _note(f"{state.cpu_model} in QEMU, SSH server on 127.0.0.1:{state.port}")
        return find_device("board"), not is_running
    except (MissingRequirementError, DeviceError, EmulatorError) as error:
        _note(f"no board: {error}")
    device = find_device(_USER_MODE)
    if shutil.which(str(device.options["program"])):
        _note(
            f"going on with QEMU's user mode instead ({device.name}): no SSH, no Linux of its own"
        )
        return device, False
    _note("going on with this machine alone: no ARM code is run")
    return None, False


def _full_against_trimmed(
    device: Definition, source: Program, expected: Golden, folder: Path
) -> list[Path]:
    """Records of the full configuration, which is the baseline, and the trimmed one."""
    cpu = device.cpu or ""
    with _step(f"optimise, trim and build for {device.toolchain} {cpu}".rstrip()):
        program = trimtab.optimize(source, target_of(device.toolchain, cpu))
        _note(f"{len(source.ops)} operators optimised to {len(program.ops)}")
        subjects = [
            build_subject(program, profile, device.toolchain, cpu, embed_model=False)
            for profile in ("full", "")
        ]
        full, trimmed = (subject.binary.stat().st_size for subject in subjects)
        _note(f"full {full:,} bytes, trimmed {trimmed:,} bytes ({trimmed / full:.0%})")
    with _step(f"push to {device.name}, check the output, measure"):
        return [_measure(device, subject, expected, folder) for subject in subjects]


def _latency_here(source: Program, expected: Golden, folder: Path) -> list[Path]:
    """The record of the trimmed configuration on this machine, whose clock can be believed."""
    with _step("latency of the build for this machine"):
        program = trimtab.optimize(source, target_of("host", ""))
        subject = build_subject(program, "", "host", "", embed_model=False)
        return [_measure(find_device("local"), subject, expected, folder)]


def _measure(device: Definition, subject: Subject, expected: Golden, folder: Path) -> Path:
    with device.open() as opened:
        settings = Settings(per_op=subject.profile != "full")  # the operators' costs are the same
        outcome = protocol.measure(opened, subject, expected, settings, folder, lambda _: None)
    if outcome.error is not None:
        raise outcome.error
    found = summary.summarize(results.read(outcome.path))
    if latency := found.figure("latency"):
        _note(f"{subject.profile}: {latency.value / 1e6:.2f} ms for one inference")
    elif count := found.figure("latency_instructions"):
        _note(f"{subject.profile}: {count.value:,.0f} instructions for one inference")
    _note(f"{subject.profile}: {found.golden}")
    return outcome.path


def _report(records: list[Path], folder: Path) -> Files:
    runs = [results.read(path) for path in records]
    compared = summary.compare(runs[:2])
    alone = [summary.summarize(run) for run in runs[1:]]
    left = Files(tuple(records), folder / "demo.md", folder / "demo.html")
    markdown, page = reports.find("markdown"), reports.find("html")
    parts = [markdown.comparison(compared), *(markdown.run(one) for one in alone)]
    files.write_text(left.markdown, "\n".join(parts))
    files.write_text(left.html, page.comparison(compared))
    print("\n" + reports.find("terminal").comparison(compared))
    if (latency := alone[-1].figure("latency")) and len(runs) > 2:
        low, high = latency.statistic.interval.low / 1e6, latency.statistic.interval.high / 1e6
        print(
            f"On this machine, one thread: {latency.value / 1e6:.2f} ms for one inference "
            f"(95 % interval of the median {low:.2f} .. {high:.2f} ms)"
        )
    print(f"Report: {left.markdown}, {left.html}; runs: ./inv report --results {folder}")
    return left


@contextmanager
def _step(title: str) -> Iterator[None]:
    """Say what is done, and at its end how long it took."""
    say(f"==> {title}")
    start = time.monotonic()
    yield
    _note(f"{time.monotonic() - start:.1f} s")


def _note(text: str) -> None:
    say(f"    {text}")
