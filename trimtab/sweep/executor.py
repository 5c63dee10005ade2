"""Executors run the tasks of a sweep; the default one uses threads of this process.

A task names the resources that it occupies, such as one CPU to compile on, or a device, of which
there is one. `ALL` of a resource is for tasks that nothing may disturb: latencies of this machine.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol, Self, TypeVar

from trimtab import system

Task = TypeVar("Task")
Result = TypeVar("Result")

CPU = "cpu"
ALL = math.inf
Needs = Mapping[str, float]


class Executor(Protocol):
    """Runs tasks as soon as their resources are free; a context manager that ends all tasks."""

    def submit(self, work: Callable[[Task], Result], task: Task, needs: Needs) -> Future[Result]:
        """Calls `work(task)` once the resources `needs` are free.

        `work` is a function at the top level of a module, and `task` can be pickled. An exception
        is set on the future.
        """

    def __enter__(self) -> Self:
        """Starts accepting tasks."""

    def __exit__(self, *exc_info: object) -> None:
        """Cancels tasks that have not started, and waits for the others."""


class LocalExecutor:
    """Threads of this process: compilers, emulators and devices do the long work."""

    def __init__(self, cpus: int = 0) -> None:
        """`cpus` limits the concurrent work on this machine; 0 is the number of its CPUs."""
        self._cpus = cpus or system.usable_cpus()
        self._used: dict[str, float] = {}
        self._lock = threading.Lock()
        self._waiting: list[tuple[Needs, Callable[[], None], Future[object]]] = []
        # Remote devices occupy no CPU here, so there may be more threads than CPUs.
        self._pool = ThreadPoolExecutor(max_workers=64, thread_name_prefix="sweep")
        self._is_closed = False

    def submit(self, work: Callable[[Task], Result], task: Task, needs: Needs) -> Future[Result]:
        """See `Executor`."""
        future: Future[Result] = Future()
        amounts = {name: min(amount, self._limit(name)) for name, amount in needs.items()}

        def run() -> None:
            try:
                result = work(task)
            except BaseException as error:  # the reader of the future handles it
                self._release(amounts)
                future.set_exception(error)
            else:
                self._release(amounts)
                future.set_result(result)

        with self._lock:
            self._waiting.append((amounts, run, future))  # type: ignore[arg-type]
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

    def _release(self, amounts: Needs) -> None:
        with self._lock:
            for name, amount in amounts.items():
                self._used[name] -= amount
        self._start()

    def _start(self) -> None:
        """Starts the tasks that fit, in the order of submission.

        A task that occupies all of a resource waits until no other task uses it, so this machine is
        measured after all builds.
        """
        with self._lock:
            if self._is_closed:
                return
            for entry in [*self._waiting]:
                amounts, run, future = entry
                if any(
                    self._used.get(name, 0) + amount > self._limit(name)
                    for name, amount in amounts.items()
                ):
                    continue
                self._waiting.remove(entry)
                if future.set_running_or_notify_cancel():
                    for name, amount in amounts.items():
                        self._used[name] = self._used.get(name, 0) + amount
                    self._pool.submit(run)
