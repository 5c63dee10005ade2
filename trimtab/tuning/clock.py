"""The clock of a tuning: times the operators of several planned networks in interleaved rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import uuid4

from trimtab.errors import WrongOutputError
from trimtab.program import Program


@dataclass(frozen=True)
class TimedBlock:
    """The times of one round of all programs, which were launched in a random order and in its
    reverse: for each program, those of its operators by index.
    """

    times: Sequence[Mapping[int, float]]
    id: str

    @staticmethod
    def of(times: Sequence[Mapping[int, float]]) -> TimedBlock:
        """A block with a new id."""
        return TimedBlock(times, uuid4().hex[:12])


class WrongPlanError(WrongOutputError):
    """A program computes wrong outputs, so it is not timed. `index`: its position."""

    def __init__(self, index: int, cause: WrongOutputError) -> None:
        super().__init__(cause.what, where=cause.where, hint=cause.hint)
        self.index = index


class Clock(Protocol):
    """A device, or this process, that times programs."""

    @property
    def core(self) -> str:
        """Name of the core, or of the processor if no core is known."""

    @property
    def unit(self) -> str:
        """Unit of the times: "ns", or "instructions" where clocks measure an emulator."""

    @property
    def compiler(self) -> str:
        """The compiler of the code that runs, with its version and its flags."""

    def carry(self, program: Program) -> None:
        """Announces a program: what runs the next measurements contains its code as well."""

    def prepare(self) -> None:
        """Builds what runs the next measurements, if something new was announced."""

    def measure(
        self, programs: Sequence[Program], blocks: int, finished: Callable[[TimedBlock], None]
    ) -> None:
        """Checks the outputs of all programs, then times them in this number of blocks.

        Calls `finished` as soon as a block is complete. Counts are exact: one block suffices, and
        there is no further one. WrongPlanError for wrong outputs; errors of the device.
        """
