"""The results of operators, as the runner on a device writes them (`TensorRecord` of
runtime/app/tensors.h).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import schema
from trimtab.bench.runner import Command, interpret
from trimtab.devices import Device
from trimtab.errors import DeviceFullError, RunnerError
from trimtab.modelfile.records import FROM_NHWC, LAYOUTS, TO_NHWC
from trimtab.program import Program
from trimtab.program.block import NUMPY_DTYPES
from trimtab.results.records import Event

Array = NDArray[Any]

LAUNCH_S = 1800.0
_RECORD = struct.Struct("<IHBBBBH8iI")
_DTYPES = {number: name for name, number in schema.DTYPES.items()}
_MOST_BYTES = 256 << 20  # of one file
_SHARE = 4  # of the free space, which may be memory, one file takes
_HINT = "the runner may be of another version: build it again"


@dataclass(frozen=True)
class Result:
    """One result of an operator: the operator's index in the model, the id of its type, which of
    its results, and the values in logical order.
    """

    op: int
    type: int
    output: int
    values: Array


@dataclass
class Dump:
    """The yield of one launch or several: all results by (operator, output), the raw outputs of the
    network, and the events of the last launch. `unit` and `timed`: see `slowness.measure`;
    `throttled`: why the device counts as throttled meanwhile.
    """

    results: dict[tuple[int, int], Result] = field(default_factory=dict)
    outputs: list[bytes] = field(default_factory=list)
    events: tuple[Event, ...] = ()
    unit: str = "ns"
    timed: tuple[Event, ...] = ()
    throttled: Sequence[str] = ()


def read(data: bytes) -> Iterator[Result]:
    """The results of a runner's file; RunnerError if it is damaged."""
    at = 0
    while at < len(data):
        if len(data) - at < _RECORD.size:
            raise RunnerError(f"its tensors end within a record, at byte {at:,}", hint=_HINT)
        op, type, output, dtype, layout, rank, _, *dims, size = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        shape = tuple(dims[:rank])
        element = np.dtype(NUMPY_DTYPES.get(_DTYPES.get(dtype, ""), "V1")).newbyteorder("<")
        is_known = dtype in _DTYPES and rank <= len(dims) and layout < len(LAYOUTS)
        count = int(np.prod(shape, dtype=np.int64)) if all(n >= 0 for n in shape) else -1
        if not is_known or count * element.itemsize != size or at + size > len(data):
            raise RunnerError(f"its tensors have a malformed record for operator {op}", hint=_HINT)
        values = np.frombuffer(data, element, count, at)
        at += size
        if LAYOUTS[layout] == "nhwc" and rank == len(TO_NHWC):
            values = values.reshape([shape[i] for i in TO_NHWC]).transpose(FROM_NHWC)
        yield Result(op, type, output, values.reshape(shape))


def fetch(device: Device, command: Command, planned: Program, folder: Path) -> Dump:
    """Runs a model on a device and fetches the results of all its operators, in as many launches as
    the free space there needs. `folder` takes temporary files of this machine.

    DeviceFullError if the results of a single operator have no room; the error that the runner
    reports.
    """
    free = device.room().free_bytes
    limit = min(_MOST_BYTES, free // _SHARE) if free is not None else _MOST_BYTES
    dump, at = Dump(), 0
    steps = [i for i, op in enumerate(planned.ops) if not op.schema.prepares]
    while at <= steps[-1]:
        launched = replace(command, tensors_from=at, tensors_bytes=max(limit, 1))
        results = _launch(device, launched, planned, folder, dump)
        if not results:
            _check_room(planned, at, limit, device.name)
            break
        dump.results |= results
        at = max(op for op, _ in results) + 1
    return dump


def _launch(
    device: Device, command: Command, planned: Program, folder: Path, dump: Dump
) -> dict[tuple[int, int], Result]:
    """The results of one launch, whose outputs and events go into `dump`."""
    with device.scratch() as scratch:
        file = f"{scratch}/tensors.bin"
        command = replace(command, tensors=file, output_dir=scratch)
        launch = interpret(device.run(command.argv(), timeout_s=LAUNCH_S))
        if launch.error:
            raise launch.error
        device.pull(file, folder / "tensors.bin")
        results = {(r.op, r.output): r for r in read((folder / "tensors.bin").read_bytes())}
        dump.outputs, dump.events = [], launch.events
        for i in range(len(planned.outputs)):
            device.pull(f"{scratch}/out{i}.bin", folder / "out.bin")
            dump.outputs.append((folder / "out.bin").read_bytes())
    return results


def _check_room(planned: Program, first: int, limit: int, device: str) -> None:
    """DeviceFullError if the results of the next operator, at least, exceed the limit."""
    for op in planned.ops[first:]:
        need = sum(planned.vars[name].bytes for name in op.outputs)
        if not op.schema.prepares and need + _RECORD.size * len(op.outputs) > limit:
            raise DeviceFullError(
                f"the results of operator {op.name} need {need:,} bytes, and a file there may have "
                f"{limit:,}, a quarter of the free space",
                where=device,
                hint="free some space there, or set `directory` in the device's definition to a "
                "larger file system",
            )
