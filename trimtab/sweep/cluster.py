"""An executor on a dask.distributed cluster (docs.dask.org/en/stable, "Worker Resources").

Workers declare what their machine has: CPUs, and the devices at its desk. A worker that is lost
costs what it was doing: the scheduler gives that to another. Results come home as they do from this
process, so that nothing is lost, and nothing is there twice.
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

PATIENCE_S = 60.0  # with work that no worker can do: perhaps one comes back
_LOOK_S = 1.0


class Cluster:
    """The workers of a scheduler; see `trimtab.sweep.executor.Executor`."""

    def __init__(self, address: str, patience_s: float = PATIENCE_S) -> None:
        """Connects to the scheduler at `address` (tcp://host:8786).

        MissingRequirementError without distributed, UsageError when no scheduler answers.
        """
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError as error:
            raise MissingRequirementError(
                "a cluster takes dask.distributed, which is not installed",
                hint="pip install 'trimtab[dask]'",
            ) from error
        try:
            self._client = distributed.Client(address, timeout=10, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise UsageError(
                f"no scheduler answers: {error}",
                where=address,
                hint="start one (`dask scheduler`), and give its address, such as tcp://host:8786",
            ) from error
        self._killed = distributed.KilledWorker
        self._patience_s = patience_s
        self._pending: dict[Future[Any], tuple[Any, Needs, float]] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)
        self._watch.start()

    def submit(self, work: Callable[[Task], Result], task: Task, needs: Needs) -> Future[Result]:
        """See `Executor`."""
        future: Future[Result] = Future()
        future.set_running_or_notify_cancel()
        with warnings.catch_warnings():
            # Binaries and models travel with the work: no worker keeps them for others.
            warnings.filterwarnings("ignore", "Sending large graph")
            remote = self._client.submit(
                work, task, resources=self._resources(needs), pure=False, retries=0
            )
        with self._lock:
            self._pending[future] = (remote, needs, time.monotonic())
        remote.add_done_callback(lambda done: self._come_home(future, done))
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
        """What each of the workers that are there has declared."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        return [worker["resources"] for worker in workers]

    def _resources(self, needs: Needs) -> dict[str, float]:
        """All of something is as much as the largest of the workers has that can do the work."""
        able = [has for has in self._workers() if _can(has, needs)]
        return {
            name: max((has[name] for has in able), default=1.0) if amount == math.inf else amount
            for name, amount in needs.items()
        }

    def _come_home(self, future: Future[Any], remote: Any) -> None:
        with self._lock:
            if self._pending.pop(future, None) is None:
                return  # it was given up
        try:
            result = remote.result()
        except self._killed as error:
            future.set_exception(
                DeviceUnreachableError(
                    f"workers died over it: {error}", hint="look into the logs of the workers"
                )
            )
        except BaseException as error:  # whoever reads the future decides
            future.set_exception(error)
        else:
            future.set_result(result)

    def _look(self) -> None:
        """Gives up what no worker can do for longer than patience lasts."""
        while not self._stop.wait(_LOOK_S):
            workers = self._workers()
            now = time.monotonic()
            with self._lock:
                for future, (remote, needs, since) in [*self._pending.items()]:
                    if any(_can(has, needs) for has in workers):
                        self._pending[future] = (remote, needs, now)
                    elif now - since > self._patience_s:
                        del self._pending[future]
                        names = ", ".join(needs)
                        future.set_exception(
                            DeviceUnreachableError(
                                f"no worker has what this takes: {names}",
                                hint=f'dask worker ... --resources "{_declared(needs)}"',
                            )
                        )
                        remote.cancel()


def _can(has: dict[str, float], needs: Needs) -> bool:
    least = {name: 1.0 if amount == math.inf else amount for name, amount in needs.items()}
    return all(has.get(name, 0.0) >= amount for name, amount in least.items())


def _declared(needs: Needs) -> str:
    return " ".join(f"{name}=1" for name in needs)
