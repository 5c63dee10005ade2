"""The QEMU board: an ARM Linux with an SSH server in an emulator on this machine."""

from trimtab.devices.board.machine import (
    PROGRAMS,
    BoardState,
    as_json,
    create,
    down,
    prepare,
    status,
    up,
)

__all__ = ["PROGRAMS", "BoardState", "as_json", "create", "down", "prepare", "status", "up"]
