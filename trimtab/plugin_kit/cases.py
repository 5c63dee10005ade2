"""Runs the cases of a plug-in's operators: on this machine, and on devices with a runner that holds
just what they need.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from trimtab import plugins
from trimtab.build import builder
from trimtab.build.derived_profile import profile_of
from trimtab.devices import find_device
from trimtab.errors import ProgramError, RunnerError, UsageError
from trimtab.operator_cases import Array, OperatorCase, cases_of
from trimtab.pipeline.remote import RemoteRunner, remote_runner
from trimtab.pipeline.resolve import find_target
from trimtab.profile import Profile
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.session import Session, optimize
from trimtab.tables import Column, Table

EMULATED = ("qemu-a53", "qemu-armv7")
HERE = "this machine"


@dataclass(frozen=True)
class Outcome:
    """One case in one place: what is wrong, "" if nothing is."""

    place: str
    case: str
    wrong: str


def find(folder: str) -> plugins.Plugin:
    """The plug-in in `folder`; UsageError when it is not in use."""
    wanted = Path(folder).expanduser().resolve()
    for plugin in plugins.active():
        if plugin.folder == wanted:
            return plugin
    raise UsageError("the plug-in is not in use", where=folder, hint=f"--plugin {folder}")


def run(
    plugin: plugins.Plugin, devices: Sequence[str] = EMULATED, progress: Progress = SILENT
) -> list[Outcome]:
    """Every case of `plugin` on this machine, then on every device. A case that is refused or wrong
    is an outcome; a build that fails or a device that is gone is an error.
    """
    cases = cases_of(plugin)
    with progress.step(f"{len(cases)} cases on {HERE}"):
        outcomes = [Outcome(HERE, name, _tried(case, _here)) for name, case in cases.items()]
    for name in devices:
        outcomes += _on_device(plugin, cases, name, progress)
    return outcomes


def table(outcomes: Sequence[Outcome]) -> Table:
    """A row for each place, and one for what is wrong there."""
    rows: list[tuple[str, str, str]] = []
    for place in dict.fromkeys(outcome.place for outcome in outcomes):
        own = [outcome for outcome in outcomes if outcome.place == place]
        wrong = [outcome for outcome in own if outcome.wrong]
        rows.append((place, f"{len(own) - len(wrong)} of {len(own)}", ""))
        rows += [("", outcome.case, outcome.wrong) for outcome in wrong]
    return Table([Column("place"), Column("right"), Column("wrong")], rows)


def _here(case: OperatorCase) -> list[Array]:
    return [*Session(case.program("case"), threads=2).run(case.operands()).values()]


def _tried(case: OperatorCase, compute: Callable[[OperatorCase], list[Array]]) -> str:
    try:
        return case.mismatch(compute(case))
    except (ProgramError, RunnerError) as refused:
        return str(refused)


def _on_device(
    plugin: plugins.Plugin, cases: Mapping[str, OperatorCase], name: str, progress: Progress
) -> Iterator[Outcome]:
    definition = find_device(name)
    target = find_target(definition.toolchain, definition.cpu or "")
    planned: dict[str, Program] = {}
    for key, case in cases.items():
        try:
            planned[key] = optimize(case.program("case"), target)
        except ProgramError as refused:
            yield Outcome(name, key, str(refused))
    profile: Profile | None = None
    for program in planned.values():
        own = profile_of(program, target)
        profile = own if profile is None else profile.union(own)
    if profile is None:
        return
    profile = replace(profile, name=plugin.name)
    with tempfile.TemporaryDirectory() as folder:
        request = builder.BuildRequest(
            profile, Path(folder, "build"), definition.toolchain, definition.cpu
        )
        build = builder.build(request, progress)
        with (
            progress.step(f"{len(planned)} cases on {name}"),
            remote_runner(definition, build.runner, f"plug-in {plugin.name}") as subject,
        ):
            there = partial(_there, subject, Path(folder))
            yield from (Outcome(name, key, _tried(cases[key], there)) for key in planned)


def _there(subject: RemoteRunner, folder: Path, case: OperatorCase) -> list[Array]:
    return [*subject.compute(case.program("case"), case.operands(), folder, threads=2).values()]
