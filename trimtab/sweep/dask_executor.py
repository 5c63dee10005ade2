"""An executor on a dask.distributed cluster (docs.dask.org/en/stable, "Worker Resources").

Each worker declares the resources of its machine: CPUs, and the devices attached to it. If a worker
dies, the scheduler gives its tasks to another one. Results return to this process, which stores
each of them exactly once.
"""

from __future__ import annotations

import importlib
import math
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Self, TypeVar

from trimtab.errors import DeviceUnreachableError, MissingRequirementError, UsageError
from trimtab.sweep.executor import Needs

Task = TypeVar("Task")
Result = TypeVar("Result")

PATIENCE_S = 60.0  # for a task that no worker can run: a worker may reconnect
_POLL_S = 1.0


class DaskExecutor:
    """The workers of a scheduler; see `trimtab.sweep.executor.Executor`."""

    def __init__(self, address: str, patience_s: float = PATIENCE_S) -> None:
        """Connects to the scheduler at `address` (tcp://host:8786).

        Raises MissingRequirementError if `distributed` is not installed, and UsageError if no
        scheduler answers.
        """
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError as error:
            raise MissingRequirementError(
                "a cluster needs dask.distributed, which is not installed",
                hint="pip install 'trimtab[dask]'",
            ) from error
        try:
            self._client = distributed.Client(address, timeout=10, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise UsageError(
                f"no scheduler answers: {error}",
                where=address,
                hint="start one with `dask scheduler`, and pass its address, such as tcp://host:8786",
            ) from error
        self._killed = distributed.KilledWorker
        self._patience_s = patience_s
        self._pending: dict[Future[Any], tuple[Any, Needs, float]] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._watch = threading.Thread(target=self._cancel_impossible, daemon=True)
        self._watch.start()

    def submit(self, work: Callable[[Task], Result], task: Task, needs: Needs) -> Future[Result]:
        """See `Executor`."""
        future: Future[Result] = Future()
        future.set_running_or_notify_cancel()
        with warnings.catch_warnings():
            # Binaries and models travel with the task; workers do not share them.
            warnings.filterwarnings("ignore", "Sending large graph")
            remote = self._client.submit(
                work, task, resources=self._resources(needs), pure=False, retries=0
            )
        with self._lock:
            self._pending[future] = (remote, needs, time.monotonic())
        remote.add_done_callback(lambda done: self._set_result(future, done))
        return future

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stop.set()
        with self._lock:
            remotes = [remote for remote, _, _ in self._pending.values()]
        if remotes:
            self._client.cancel(remotes)
        self._watch.join()
        self._client.close()

    def _workers(self) -> list[dict[str, float]]:
        """The declared resources of each connected worker."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        return [worker["resources"] for worker in workers]

    def _resources(self, needs: Needs) -> dict[str, float]:
        """The amounts to request; ALL becomes the largest amount of any able worker."""
        able = [declared for declared in self._workers() if _suffices(declared, needs)]
        return {
            name: max((d[name] for d in able), default=1.0) if amount == math.inf else amount
            for name, amount in needs.items()
        }

    def _set_result(self, future: Future[Any], remote: Any) -> None:
        with self._lock:
            if self._pending.pop(future, None) is None:
                return  # canceled
        try:
            result = remote.result()
        except self._killed as error:
            future.set_exception(
                DeviceUnreachableError(
                    f"the workers that ran the task died: {error}",
                    hint="read the logs of the workers",
                )
            )
        except BaseException as error:  # the reader of the future handles it
            future.set_exception(error)
        else:
            future.set_result(result)

    def _cancel_impossible(self) -> None:
        """Cancels tasks that no worker has been able to run for `patience_s`."""
        while not self._stop.wait(_POLL_S):
            workers = self._workers()
            now = time.monotonic()
            with self._lock:
                for future, (remote, needs, since) in [*self._pending.items()]:
                    if any(_suffices(declared, needs) for declared in workers):
                        self._pending[future] = (remote, needs, now)
                    elif now - since > self._patience_s:
                        del self._pending[future]
                        names, declaration = ", ".join(needs), _declaration(needs)
                        future.set_exception(
                            DeviceUnreachableError(
                                f"no worker has the resources of this task: {names}",
                                hint=f'start one: dask worker ... --resources "{declaration}"',
                            )
                        )
                        remote.cancel()


def _suffices(declared: dict[str, float], needs: Needs) -> bool:
    minimum = {name: 1.0 if amount == math.inf else amount for name, amount in needs.items()}
    return all(declared.get(name, 0.0) >= amount for name, amount in minimum.items())


def _declaration(needs: Needs) -> str:
    return " ".join(f"{name}=1" for name in needs)
