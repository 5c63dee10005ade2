"""Tasks of hosts other than this machine."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option

NAMESPACE = "hosts"


@dataclass(frozen=True, kw_only=True)
class HostsOptions:
    """Options of `hosts.board`."""

    only: str = option("only steps whose names contain this text")
    log: str = option("file for what the commands print", "hosts-board.log")
    json: bool = option("print JSON", False)
    update: bool = option("write what was tried to lab/hosts/, beside other steps", False)


@command(HostsOptions, engine=True)
def board(options: HostsOptions) -> None:
    """Install, build, run and fit in an aarch64 Debian under QEMU (as root, hours)."""
    import os
    from pathlib import Path

    from lab import committed
    from lab.hosts import trial
    from trimtab import strict_json, tables
    from trimtab.cli._progress import shown
    from trimtab.errors import MissingRequirementError, WrongOutputError

    if os.geteuid() != 0:
        raise MissingRequirementError("making and entering a system needs root", hint="sudo")
    progress = shown(quiet=options.json)
    trials = []
    for one in trial.run(options.only, Path(options.log).absolute(), progress):
        trials.append(one)
        if options.update:  # each at once: the next may take an hour
            committed.write(trial.NAME, trial.merged([one]))
    if options.json:
        print(strict_json.dumps([one.record() for one in trials], indent=1))
    else:
        print(tables.text([trial.table(trials)]))
    if wrong := [f"{one.step}: {one.problem}" for one in trials if one.problem]:
        raise WrongOutputError("; ".join(wrong), where=options.log, hint="the log has the reasons")
