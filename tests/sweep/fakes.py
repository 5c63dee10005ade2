"""A workshop that builds and measures nothing, and counts what it was asked for."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.bench.fakes import make_header
from trimtab.errors import BuildError, DeviceUnreachableError
from trimtab.results.records import FileFacts, Status, Writer
from trimtab.sweep.bundle import Bundle
from trimtab.sweep.executor import ALL, CPU, Needs
from trimtab.sweep.matrix import Cell, Sweep
from trimtab.sweep.tasks import BuildTask, Built, Candidate, Identity, Measured, MeasureTask


class Shop:
    """`statuses`: of cells, by a word of theirs, that do not end as OK; "unreachable" is a device
    that is not there. `broken`: words of cells that cannot be built.
    """

    def __init__(self, folder: Path, statuses: Mapping[str, str] | None = None) -> None:
        self._folder = folder
        self.statuses, self.broken = dict(statuses or {}), set[str]()
        self.built: list[Cell] = []
        self.measured: list[tuple[Cell, ...]] = []
        self.most_at_once: Counter[str] = Counter()
        self._now: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._kept: dict[Cell, Identity] = {}
        self.build: Callable[[BuildTask], Built] = self._build
        self.measure: Callable[[MeasureTask], tuple[Measured, ...]] = self._measure
        self.quiet = "local"

    def identity(self, cell: Cell) -> Identity | None:
        return self._kept.get(cell)

    def build_task(self, cell: Cell) -> BuildTask:
        return BuildTask(cell, None, None, "")

    def keep(self, cell: Cell, built: Built) -> None:
        self._kept[cell] = built.identity

    def measure_task(self, sweep: Sweep, cells: Mapping[Cell, Identity]) -> MeasureTask:
        candidates = []
        for cell, made in cells.items():
            key = sweep.key(cell, made.binary_sha256, made.model_sha256)
            role = {"cell": key, "series": sweep.series(cell), "configuration": cell.configuration}
            candidates.append(Candidate(cell, made, Bundle("kept", []), role))
        device = candidates[0].cell.device
        return MeasureTask(device, tuple(candidates), sweep.protocol.settings, "")

    def needs(self, device: str) -> Needs:
        return {device: 1, CPU: ALL} if device == self.quiet else {device: 1}

    def takes_turns(self, device: str) -> bool:
        return device == "local"

    def _build(self, task: BuildTask) -> Built:
        with self._busy("build"):
            self.built.append(task.cell)
            if self._of(task.cell, {word: word for word in self.broken}):
                raise BuildError("the compiler refuses", hint="look into the log")
            digest = hashlib.sha256(str(task.cell).encode()).hexdigest()
            return Built(Identity(digest, digest, 1.0), Bundle("kept", []))

    def _measure(self, task: MeasureTask) -> tuple[Measured, ...]:
        cells = tuple(candidate.cell for candidate in task.candidates)
        with self._busy(task.device):
            self.measured.append(cells)
            statuses = [self._of(cell, self.statuses) or "OK" for cell in cells]
            if "unreachable" in statuses:
                raise DeviceUnreachableError("nothing answers", where=task.device)
            if any(status != "OK" for status in statuses):
                statuses = ["SKIPPED" if status == "OK" else status for status in statuses]
            return tuple(
                self._record(candidate, status)
                for candidate, status in zip(task.candidates, statuses, strict=True)
            )

    def _record(self, candidate: Candidate, status: str) -> Measured:
        made, header = candidate.identity, make_header()
        facts = {
            "model": FileFacts("net.ttm", 5, made.model_sha256),
            "binary": FileFacts("trimtab-run", 1000, made.binary_sha256),
            "device": {"name": candidate.cell.device},
            "protocol": {"threads": 1, "sweep": dict(candidate.role)},
        }
        with Writer(self._folder / "scratch", type(header)(**{**vars(header), **facts})) as writer:
            writer.event({"event": "run", "i": 0, "ns": 1000, "instructions": None})
            writer.end(Status(status), "" if status == "OK" else "as it was told")
        return Measured(writer.path.name, writer.path.read_bytes())

    def _of(self, cell: Cell, words: Mapping[str, str]) -> str:
        values = {str(value) for value in cell.configuration.values()}
        return next((words[word] for word in words if word in values), "")

    def _busy(self, what: str) -> _Busy:
        return _Busy(self, what)

    def enter(self, what: str) -> None:
        with self._lock:
            self._now[what] += 1
            self.most_at_once[what] = max(self.most_at_once[what], self._now[what])
            if what == self.quiet:
                beside = [name for name, n in self._now.items() if n and name in ("build",)]
                self.most_at_once["beside the quiet one"] += len(beside)
        time.sleep(0.01)

    def leave(self, what: str) -> None:
        with self._lock:
            self._now[what] -= 1


class _Busy:
    def __init__(self, shop: Shop, what: str) -> None:
        self._shop, self._what = shop, what

    def __enter__(self) -> None:
        self._shop.enter(self._what)

    def __exit__(self, *exc_info: object) -> None:
        self._shop.leave(self._what)
