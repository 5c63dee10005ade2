"""The QEMU system board: a real ARM Linux with an SSH server on this machine."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option
from trimtab.paths import PROGRAM

GROUP = "Devices"


RENAMED = {
    "board.up": "board",
    "board.down": "board --stop",
    "board.status": "board --status",
}


@dataclass(frozen=True, kw_only=True)
class StartOptions:
    """Options of `board`."""

    arch: str = option("aarch64 (default) or armv7", "aarch64")
    cpu_model: str = option(
        "the core that QEMU emulates, e.g. cortex-a72 (default cortex-a53, or a15)"
    )
    cpus: int = option("more than one processor gives up exact instruction counts", 1)
    status: bool = option("only show whether it is up, and where its SSH server listens", False)
    stop: bool = option("stop it", False)
    json: bool = option("print JSON; only with --status", False)


@command(StartOptions)
def board(options: StartOptions) -> None:
    """Start the board, or stop it; the first time, download and build its system into .cache."""
    from trimtab.cli._progress import shown
    from trimtab.devices import board
    from trimtab.errors import UsageError

    arch = options.arch
    if options.status and options.stop:
        raise UsageError("--status and --stop exclude each other")
    if options.json and not options.status:
        raise UsageError("--json is for --status", hint=f"{PROGRAM} board --status --json")
    if options.stop:
        print(f"board {arch}: {'stopped' if board.down(arch) else 'was not up'}")
        return
    if options.status:
        state = board.status(arch)
    else:
        model = options.cpu_model or None
        state = board.up(arch, cpu_model=model, cpus=options.cpus, progress=shown())
    if options.json:
        print(board.as_json(state))
    elif state is None:
        print(f"board {arch}: down")
    else:
        print(
            f"board {arch}: up, {state.cpus} x {state.cpu_model}, ssh on "
            f"127.0.0.1:{state.port}, QEMU is process {state.pid}"
        )
