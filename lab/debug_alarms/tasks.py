"""Counts the false alarms of `debug`."""

from __future__ import annotations

from dataclasses import dataclass

from lab.options import CheckedOptions, names_in
from trimtab.cli._command import command, group, option

NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class AlarmOptions:
    """Options of `bench.alarms`."""

    networks: str = option("comma-separated networks; default: all 30")
    precisions: str = option("comma-separated precisions; default: f32, f16 and int8")
    exports: str = option("folder of timm's networks (lab/networks/export.py FOLDER variants)")
    results: CheckedOptions = group(CheckedOptions)


@command(AlarmOptions, engine=True)
def alarms(options: AlarmOptions) -> None:
    """Diagnose networks that are right on emulated cores, and count the false alarms."""
    from pathlib import Path

    from lab.debug_alarms import measure
    from lab.experiment import TaskRun
    from trimtab import paths

    run = TaskRun(measure.ALARMS, options)
    networks = names_in(options.networks) or measure.names()
    precisions = names_in(options.precisions) or measure.PRECISIONS
    exports = Path(options.exports) if options.exports else paths.cache() / "networks"
    run.finish([*measure.diagnosed(networks, precisions, exports, run.progress)])
