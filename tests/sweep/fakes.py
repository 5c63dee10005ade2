"""Builds and measurements of a sweep that take no time, and count their calls."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.bench.fakes import make_header
from trimtab.errors import BuildError, DeviceUnreachableError
from trimtab.results.records import FileFacts, RecordedDevice, Status, Writer
from trimtab.sweep.builds import BuildCache, BuildIdentity, BuildTask, CellBuild
from trimtab.sweep.bundle import FileBundle
from trimtab.sweep.matrix import Cell, Sweep
from trimtab.sweep.measurements import BuiltCell, CellRecord, MeasureTask


class FakeCache(BuildCache):
    """A build cache in memory, whose tasks hold no files."""

    def __init__(self) -> None:
        self.identities: dict[Cell, BuildIdentity] = {}

    def find(self, cell: Cell) -> BuildIdentity | None:
        return self.identities.get(cell)

    def task(self, cell: Cell) -> BuildTask:
        return BuildTask(cell, None, None, "")

    def store(self, cell: Cell, result: CellBuild) -> None:
        self.identities[cell] = result.identity


def measure_task(
    sweep: Sweep, builds: Mapping[Cell, BuildIdentity], revisions: Mapping[str, object]
) -> MeasureTask:
    """`measurements.measure_task` without archived files."""
    cells = []
    for cell, identity in builds.items():
        key = sweep.key(cell, *identity.hashes)
        role = {"cell": key, "series": sweep.series(cell), "configuration": cell.configuration}
        cells.append(BuiltCell(cell, identity, FileBundle("archived", Path(), []), role))
    return MeasureTask(cells[0].cell.device, tuple(cells), sweep.protocol.settings, "")


class FakeWork:
    """Stands for `build_cell` and `measure_cells`.

    `statuses` maps a word of a cell's configuration to the status that its run ends with;
    "unreachable" makes its device unreachable. `broken` holds words of cells that fail to build.
    """

    def __init__(self, folder: Path, statuses: Mapping[str, str] | None = None) -> None:
        self._folder = folder
        self.statuses, self.broken = dict(statuses or {}), set[str]()
        self.cache = FakeCache()
        self.built: list[Cell] = []
        self.measured: list[tuple[Cell, ...]] = []
        self.max_concurrent: Counter[str] = Counter()
        self.builds_during_local = 0
        self._running: Counter[str] = Counter()
        self._lock = threading.Lock()

    def build_cell(self, task: BuildTask) -> CellBuild:
        with self._running_as("build"):
            self.built.append(task.cell)
            if self._match(task.cell, {word: word for word in self.broken}):
                raise BuildError("the compiler refuses", hint="look into the log")
            digest = hashlib.sha256(str(task.cell).encode()).hexdigest()
            identity = BuildIdentity(digest, digest, 1.0)
            return CellBuild(identity, FileBundle("archived", Path(), []))

    def measure_cells(self, task: MeasureTask) -> tuple[CellRecord, ...]:
        cells = tuple(built.cell for built in task.cells)
        with self._running_as(task.device):
            self.measured.append(cells)
            statuses = [self._match(cell, self.statuses) or "OK" for cell in cells]
            if "unreachable" in statuses:
                raise DeviceUnreachableError("nothing answers", where=task.device)
            if any(status != "OK" for status in statuses):
                statuses = ["SKIPPED" if status == "OK" else status for status in statuses]
            pairs = zip(task.cells, statuses, strict=True)
            return tuple(self._record(built, status) for built, status in pairs)

    def _record(self, built: BuiltCell, status: str) -> CellRecord:
        header = make_header()
        facts = {
            "model": FileFacts("net.ttm", 5, built.identity.model_sha256),
            "binary": FileFacts("trimtab-run", 1000, built.identity.binary_sha256),
            "device": RecordedDevice(built.cell.device),
            "protocol": {"threads": 1, "sweep": dict(built.role)},
        }
        with Writer(self._folder / "scratch", type(header)(**{**vars(header), **facts})) as writer:
            writer.event({"event": "run", "i": 0, "ns": 1000, "instructions": None})
            writer.end(Status(status), "" if status == "OK" else "as the test says")
        return CellRecord(writer.path.name, writer.path.read_bytes())

    def _match(self, cell: Cell, words: Mapping[str, str]) -> str:
        values = {str(value) for value in cell.configuration.values()}
        return next((words[word] for word in words if word in values), "")

    @contextmanager
    def _running_as(self, resource: str) -> Iterator[None]:
        with self._lock:
            self._running[resource] += 1
            count = self._running[resource]
            self.max_concurrent[resource] = max(self.max_concurrent[resource], count)
            if resource == "local":
                self.builds_during_local += self._running["build"]
        time.sleep(0.01)
        try:
            yield
        finally:
            with self._lock:
                self._running[resource] -= 1
