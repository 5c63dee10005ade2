"""Measures the conversion of camera frames beside OpenCV, and the way from a frame to boxes."""

from __future__ import annotations

from dataclasses import dataclass

from lab.options import TimedOptions
from trimtab.cli._command import command, group, option

NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class CameraOptions:
    """Options of `bench.camera`."""

    rounds: int = option("conversions of each kind, in interleaved rounds", 200)
    ncnn: str = option(
        "instead: checkout of ncnn, whose instructions for these steps a Cortex-A53 counts"
    )
    boxes: bool = option(
        "instead: what camera and head add to the time and instructions of detectors", False
    )
    results: TimedOptions = group(TimedOptions)


@command(CameraOptions, engine=True)
def camera(options: CameraOptions) -> None:
    """Measure the conversion of camera frames beside OpenCV's functions for the same steps."""
    from pathlib import Path

    from lab.camera import boxes, measure, ncnn
    from lab.experiment import TaskRun

    if options.ncnn:
        counting = TaskRun(ncnn.NCNN, options)
        counts, versions = ncnn.measure(Path(options.ncnn), counting.progress)
        counting.finish(counts, versions=versions)
    elif options.boxes:
        detecting = TaskRun(boxes.BOXES, options)
        with detecting.exclusive():
            detectors, versions = boxes.measure(options.rounds, detecting.progress)
        detecting.finish(detectors, versions=versions)
    else:
        converting = TaskRun(measure.CAMERA, options)
        with converting.exclusive():
            cases = measure.measure(options.rounds)
        converting.finish(cases)
