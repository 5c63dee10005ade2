"""The QEMU system board: a real ARM Linux with an SSH server on this machine."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option

GROUP = "Devices"
NAMESPACE = "board"

_ARCH = "aarch64 (default) or armv7"


@dataclass(frozen=True, kw_only=True)
class UpOptions:
    """Options of `board.up`."""

    arch: str = option(_ARCH, "aarch64")
    cpu_model: str = option(
        "the core that QEMU emulates, e.g. cortex-a72 (default cortex-a53, or a15)"
    )
    cpus: int = option("more than one processor gives up exact instruction counts", 1)


@command(UpOptions)
def up(options: UpOptions) -> None:
    """Start the board; the first time, download and build its system into .cache/board."""
    from trimtab.cli._progress import shown
    from trimtab.devices import board

    arch, cpu_model = options.arch, options.cpu_model or None
    state = board.up(arch, cpu_model=cpu_model, cpus=options.cpus, progress=shown())
    print(f"board {arch}: up, {state.cpus} x {state.cpu_model}, ssh on 127.0.0.1:{state.port}")


@dataclass(frozen=True, kw_only=True)
class DownOptions:
    """Options of `board.down`."""

    arch: str = option(_ARCH, "aarch64")


@command(DownOptions)
def down(options: DownOptions) -> None:
    """Stop the board."""
    from trimtab.devices import board

    print(f"board {options.arch}: {'stopped' if board.down(options.arch) else 'was not up'}")


@dataclass(frozen=True, kw_only=True)
class StatusOptions:
    """Options of `board.status`."""

    arch: str = option(_ARCH, "aarch64")
    json: bool = option("print JSON", False)


@command(StatusOptions)
def status(options: StatusOptions) -> None:
    """Show whether the board is up, and where its SSH server listens."""
    from trimtab.devices import board

    state = board.status(options.arch)
    if options.json:
        print(board.as_json(state))
    elif state is None:
        print(f"board {options.arch}: down")
    else:
        print(
            f"board {options.arch}: up, {state.cpus} x {state.cpu_model}, ssh on "
            f"127.0.0.1:{state.port}, QEMU is process {state.pid}"
        )
