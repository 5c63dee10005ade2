"""Where the work of a sweep is done: an executor, of which this process is the default.

Work says what it needs: so much of each resource, such as a CPU to compile on, or a device, of
which there is one. `ALL` of a resource is for what must not be disturbed: times of this machine.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol, Self, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

CPU = "cpu"
ALL = math.inf
Needs = Mapping[str, float]


class Executor(Protocol):
    """Does work as soon as there is what it needs; a context manager, which ends what goes on."""

    def submit(self, work: Callable[[Task], Result], task: Task, needs: Needs) -> Future[Result]:
        """`work(task)`, a function at the top of a module and what can be pickled, once as much is
        free as it needs. What it raises is the future's.
        """

    def __enter__(self) -> Self:
        """Ready for work."""

    def __exit__(self, *exc_info: object) -> None:
        """Forgets what has not begun, and waits for what has."""


class Local:
    """This process, in threads: what takes long are compilers, emulators and devices."""

    def __init__(self, cpus: int = 0) -> None:
        """`cpus`: how much may go on at the same time on this machine; 0 for as many as it has."""
        self._cpus = cpus or len(os.sched_getaffinity(0))
        self._used: dict[str, float] = {}
        self._lock = threading.Lock()
        self._waiting: list[tuple[Needs, Callable[[], None], Future[object]]] = []
        # Remote devices need no CPU here, so that there may be more threads than CPUs.
        self._pool = ThreadPoolExecutor(max_workers=64, thread_name_prefix="sweep")
        self._is_closed = False

    def submit(self, work: Callable[[Task], Result], task: Task, needs: Needs) -> Future[Result]:
        """See `Executor`."""
        future: Future[Result] = Future()
        wanted = {name: min(amount, self._limit(name)) for name, amount in needs.items()}

        def run() -> None:
            try:
                result = work(task)
            except BaseException as error:  # whoever reads the future decides
                self._give_back(wanted)
                future.set_exception(error)
            else:
                self._give_back(wanted)
                future.set_result(result)

        with self._lock:
            self._waiting.append((wanted, run, future))  # type: ignore[arg-type]
        self._start()
        return future

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        with self._lock:
            self._is_closed = True
            for _, _, future in self._waiting:
                future.cancel()
            self._waiting.clear()
        self._pool.shutdown(wait=True)

    def _limit(self, name: str) -> float:
        return self._cpus if name == CPU else 1

    def _give_back(self, wanted: Needs) -> None:
        with self._lock:
            for name, amount in wanted.items():
                self._used[name] -= amount
        self._start()

    def _start(self) -> None:
        """Begins what there is room for, in the order in which it came. What needs all of something
        waits until nothing else wants it, so that this machine is measured when all is built.
        """
        with self._lock:
            if self._is_closed:
                return
            for entry in [*self._waiting]:
                wanted, run, future = entry
                if any(
                    self._used.get(name, 0) + amount > self._limit(name)
                    for name, amount in wanted.items()
                ):
                    continue
                self._waiting.remove(entry)
                if future.set_running_or_notify_cancel():
                    for name, amount in wanted.items():
                        self._used[name] = self._used.get(name, 0) + amount
                    self._pool.submit(run)
