"""The QEMU board: an ARM Linux with an SSH server in an emulator on this machine."""

from trimtab.devices.board.machine import (
    OPTIONS,
    PROGRAMS,
    BoardState,
    as_json,
    create,
    down,
    prepare,
    status,
    up,
)

__all__ = [
    "OPTIONS",
    "PROGRAMS",
    "BoardState",
    "as_json",
    "create",
    "down",
    "prepare",
    "status",
    "up",
]
