"""Facts of this machine and its user that Linux, macOS and Windows tell in different ways.

Types are checked for each of these systems (`./inv lint`), so that a function that one of them
lacks is called here, or behind a condition on `sys.platform`. Uses the standard library only.
"""

from __future__ import annotations

import os
import sys

from trimtab.errors import MissingRequirementError


def usable_cpus() -> int:
    """The number of CPUs that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_bytes() -> int:
    """The memory of this machine; on Windows, which tells it in another way, no limit."""
    if sys.platform == "win32":
        return sys.maxsize
    return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES"))


def user_id() -> int:
    """The number of the user; 0, as `ssh` has it, where users have none."""
    if sys.platform == "win32":
        return 0
    return os.geteuid()


def require_linux(what: str, instead: str) -> None:
    """MissingRequirementError that `what` needs Linux, on another system; `instead` is a hint."""
    if sys.platform != "linux":
        name = {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, sys.platform)
        raise MissingRequirementError(f"{what} needs Linux, and this is {name}", hint=instead)
