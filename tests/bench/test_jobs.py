"""Settings of a measurement."""

from __future__ import annotations

import pytest

from trimtab.bench.jobs import MAX_THREADS, Settings
from trimtab.errors import UsageError


def test_a_job_has_from_one_to_as_many_threads_as_the_runner_takes() -> None:
    assert [Settings(threads=n).threads for n in (1, MAX_THREADS)] == [1, MAX_THREADS]
    with pytest.raises(UsageError, match=f"at most {MAX_THREADS}"):
        Settings(threads=MAX_THREADS + 1)
    with pytest.raises(UsageError, match="at least 1"):
        Settings(threads=0)
