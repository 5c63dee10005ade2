"""Runs the cases of a plug-in's operators on this machine, and on devices with a trimmed runner."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trimtab import plugins, schema
from trimtab.build import builder
from trimtab.build.derived_profile import profile_of
from trimtab.devices import find_device
from trimtab.errors import ProgramError, RunnerError, UsageError
from trimtab.operator_cases import Array, OperatorCase, cases_of
from trimtab.pipeline.measured import ready_device
from trimtab.pipeline.remote import remote_runner
from trimtab.pipeline.resolve import find_target
from trimtab.profile import Profile
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.session import Session, optimize
from trimtab.tables import Column, Table

EMULATED = ("qemu-a53", "qemu-armv7")
HERE = "this machine"


@dataclass(frozen=True)
class CaseOutcome:
    """The result of one case on one machine; `error` is "" if the outputs are right."""

    machine: str
    case: str
    error: str


def find(folder: str) -> plugins.Plugin:
    """The active plug-in in `folder`; UsageError if it is not active."""
    path = Path(folder).expanduser().resolve()
    for plugin in plugins.active():
        if plugin.folder == path:
            return plugin
    raise UsageError("the plug-in is not active", where=folder, hint=f"--plugin {folder}")


def run(
    plugin: plugins.Plugin, devices: Sequence[str] = EMULATED, progress: Progress = SILENT
) -> list[CaseOutcome]:
    """Runs every case of `plugin` on this machine, then on each device.

    A case that is refused or computes wrong outputs is an outcome; a failed build or an unreachable
    device is an error. Operators at run time are not in a device's runner: their cases run here.
    """
    cases = cases_of(plugin)
    with progress.step(f"{len(cases)} cases on {HERE}"):
        outcomes = [
            CaseOutcome(HERE, name, _error(case, _compute_here)) for name, case in cases.items()
        ]
    compiled = {name: c for name, c in cases.items() if not schema.operator(c.op).run_time}
    for name in devices if compiled else ():
        outcomes += _run_on_device(plugin, compiled, name, progress)
    return outcomes


def table(outcomes: Sequence[CaseOutcome]) -> Table:
    """One row per machine, and below it one per failed case."""
    rows: list[tuple[str, str, str]] = []
    for machine in dict.fromkeys(outcome.machine for outcome in outcomes):
        own = [outcome for outcome in outcomes if outcome.machine == machine]
        failed = [outcome for outcome in own if outcome.error]
        rows.append((machine, f"{len(own) - len(failed)} of {len(own)}", ""))
        rows += [("", outcome.case, outcome.error) for outcome in failed]
    return Table([Column("place"), Column("right"), Column("wrong")], rows)


def _compute_here(case: OperatorCase) -> list[Array]:
    return [*Session(case.program("case"), threads=2).run(case.operands()).values()]


def _error(case: OperatorCase, compute: Callable[[OperatorCase], list[Array]]) -> str:
    """The error or the mismatch of a case, "" if there is none."""
    try:
        return case.mismatch(compute(case))
    except (ProgramError, RunnerError) as error:
        return str(error)


def _run_on_device(
    plugin: plugins.Plugin, cases: Mapping[str, OperatorCase], name: str, progress: Progress
) -> Iterator[CaseOutcome]:
    definition = find_device(name)
    target = find_target(definition.toolchain, definition.cpu or "")
    planned: dict[str, Program] = {}
    for key, case in cases.items():
        try:
            planned[key] = optimize(case.program("case"), target)
        except ProgramError as error:
            yield CaseOutcome(name, key, str(error))
    profile: Profile | None = None
    for program in planned.values():
        own = profile_of(program, target)
        profile = own if profile is None else profile.union(own)
    if profile is None:
        return
    profile = replace(profile, name=plugin.name)
    ready_device(definition, definition.toolchain)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        request = builder.BuildRequest(
            profile, folder / "build", definition.toolchain, definition.cpu
        )
        build = builder.build(request, progress)
        with (
            progress.step(f"{len(planned)} cases on {name}"),
            remote_runner(definition, build.runner, f"plug-in {plugin.name}") as remote,
        ):

            def compute(case: OperatorCase) -> list[Array]:
                program, operands = case.program("case"), case.operands()
                return [*remote.compute(program, operands, folder, threads=2).values()]

            yield from (CaseOutcome(name, key, _error(cases[key], compute)) for key in planned)
