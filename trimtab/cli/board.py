"""The QEMU system board: a real ARM Linux with an SSH server on this machine."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

GROUP = "Devices"
NAMESPACE = "board"

_ARCH = {"arch": "aarch64 (default) or armv7"}


@task(
    help=_ARCH
    | {
        "cpu_model": "the core that QEMU plays, e.g. cortex-a72 (default cortex-a53, or a15)",
        "cpus": "more than one processor gives up exact instruction counts",
    }
)
def up(_: Context, arch: str = "aarch64", cpu_model: str = "", cpus: int = 1) -> None:
    """Start the board; the first time, download and build its system into .cache/board."""
    from trimtab.cli._progress import shown
    from trimtab.devices import board

    state = board.up(arch, cpu_model=cpu_model or None, cpus=cpus, progress=shown())
    print(f"board {arch}: up, {state.cpus} x {state.cpu_model}, ssh on 127.0.0.1:{state.port}")


@task(help=_ARCH)
def down(_: Context, arch: str = "aarch64") -> None:
    """Stop the board."""
    from trimtab.devices import board

    print(f"board {arch}: {'stopped' if board.down(arch) else 'was not up'}")


@task(help=_ARCH | {"json": "as JSON on standard output"})
def status(_: Context, arch: str = "aarch64", json: bool = False) -> None:
    """Say whether the board is up, and where its SSH server listens."""
    from trimtab.devices import board

    state = board.status(arch)
    if json:
        print(board.as_json(state))
    elif state is None:
        print(f"board {arch}: down")
    else:
        print(
            f"board {arch}: up, {state.cpus} x {state.cpu_model}, ssh on 127.0.0.1:{state.port}, "
            f"QEMU is process {state.pid}"
        )
