"""Measures the conversion of camera frames beside OpenCV, and the way from a frame to boxes."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option
from trimtab.cli._options import WAIT_HELP, parse_wait

NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class CameraOptions:
    """Options of `bench.camera`."""

    rounds: int = option("conversions of each kind, in interleaved rounds", 200)
    wait: str = option(WAIT_HELP, bare=True)
    ncnn: str = option(
        "instead: checkout of ncnn, whose instructions for these steps a Cortex-A53 counts"
    )
    boxes: bool = option(
        "instead: what camera and head add to the time and instructions of detectors", False
    )
    update: bool = option("write the figures to lab/camera/", False)


@command(CameraOptions, engine=True)
def camera(options: CameraOptions) -> None:
    """Measure the conversion of camera frames beside OpenCV's functions for the same steps."""
    from dataclasses import replace
    from pathlib import Path

    from lab import committed
    from lab.camera import boxes, measure, ncnn
    from lab.exclusive import exclusive
    from lab.machine import MachineMonitor
    from trimtab import tables
    from trimtab.cli._progress import shown

    progress, monitor = shown(), MachineMonitor()
    if options.ncnn:
        counted = ncnn.measure(Path(options.ncnn), progress)
        print(tables.text([ncnn.table(counted)]))
        if options.update:
            progress.note(f"written: {committed.write(ncnn.NAME, counted)}")
        return
    with exclusive("bench.camera", parse_wait(options.wait), progress):
        if options.boxes:
            results = replace(boxes.measure(options.rounds, progress), machine=monitor.facts())
            print(tables.text([boxes.table(results.rows)]))
            if options.update:
                progress.note(f"written: {committed.write(boxes.NAME, results)}")
            return
        figures = measure.measure(options.rounds)
    print(tables.text([measure.table(figures)]))
    if options.update:
        line = f"./inv bench.camera --rounds {options.rounds} --update"
        results = measure.to_results(figures, line, monitor.facts())
        progress.note(f"written: {committed.write(measure.NAME, results)}")
