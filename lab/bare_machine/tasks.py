"""Tries the README's two commands on machines that nobody prepared."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option

NAMESPACE = "bare"


@dataclass(frozen=True, kw_only=True)
class BareOptions:
    """Options of `bare.machine`."""

    only: str = option("only machines whose release and name contain this text")
    logs: str = option("folder for what the commands print", "bare-machine-logs")
    after_setup: bool = option(
        "run the tests once more, after ./inv setup and with another compiler", False
    )
    json: bool = option("print JSON", False)
    update: bool = option("write the figures to lab/bare_machine/", False)


@command(BareOptions, engine=True)
def machine(options: BareOptions) -> None:
    """Run ./inv demo and ./inv test in bare Debian systems (as root, an hour each)."""
    import os
    from pathlib import Path

    from lab import committed
    from lab.bare_machine import trial
    from lab.machine import MachineMonitor
    from trimtab import strict_json, tables
    from trimtab.cli._progress import shown
    from trimtab.errors import MissingRequirementError, UsageError

    if os.geteuid() != 0:
        raise MissingRequirementError("making and entering a bare system needs root", hint="sudo")
    chosen = [m for m in trial.MACHINES if options.only in f"{m.release} {m.name}"]
    if not chosen:
        names = ", ".join(f"{m.release} {m.name}" for m in trial.MACHINES)
        raise UsageError(f"no machine contains {options.only!r}", hint=f"there are: {names}")
    logs, monitor, progress = Path(options.logs), MachineMonitor(), shown(quiet=options.json)
    logs.mkdir(parents=True, exist_ok=True)
    trials = list(trial.run(chosen, logs, options.after_setup, progress))
    if options.json:
        print(strict_json.dumps([one.record() for one in trials], indent=1))
    else:
        print(tables.text([trial.table(trials), trial.skipped_table(trials)]))
    if options.update:
        before = trial.committed_trials()
        command = "./inv bare.machine --update"
        results = trial.to_results(trials, before, command, monitor.facts())
        progress.note(f"written: {committed.write(trial.NAME, results)}")
