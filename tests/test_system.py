"""trimtab on systems that lack what Linux has."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from trimtab import system
from trimtab.bench.runner import signal_name
from trimtab.devices import find_device
from trimtab.devices.board import machine
from trimtab.doctor import Requirement, install
from trimtab.errors import MissingRequirementError

SCRIPT = r"""
import importlib, os, pkgutil, signal, sys
import trimtab

def load():
    for name in [name for name in sys.modules if name.startswith("trimtab.")]:
        del sys.modules[name]
    for module in pkgutil.walk_packages(trimtab.__path__, "trimtab."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)

load()  # also what other packages import, which is their own affair
# What the standard library's documentation calls "Availability: Unix", or Linux.
for name in ("fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "termios", "tty"):
    sys.modules[name] = None
for module, names in {
    os: "chown fork geteuid getgid getloadavg getuid killpg memfd_create mkfifo openpty "
    "posix_spawn sched_getaffinity sched_setaffinity setsid statvfs sysconf uname wait4 "
    "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK WNOHANG",
    signal: "SIGALRM SIGBUS SIGCHLD SIGHUP SIGKILL SIGPIPE SIGQUIT SIGUSR1 setitimer sigwait",
}.items():
    for name in names.split():
        delattr(module, name)
for sys.platform in ("darwin", "win32"):
    load()
"""


def test_every_module_can_be_imported_without_what_only_linux_has() -> None:
    argv = [sys.executable, "-P", "-c", SCRIPT]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("platform", "name"), [("darwin", "macOS"), ("win32", "Windows")])
def test_what_needs_linux_says_so_with_another_way(
    platform: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    missing = Requirement("ps", "nothing", "", "procps", "", needed=False)
    for action in (
        lambda: find_device("local").open().__enter__(),
        machine.up,
        lambda: install([missing]),
    ):
        with pytest.raises(MissingRequirementError, match=f"needs Linux, and this is {name}") as e:
            action()
        assert e.value.hint


def test_this_machine_has_as_many_usable_cpus_as_linux_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if sys.platform == "linux":
        assert system.usable_cpus() == len(os.sched_getaffinity(0))
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.delattr(os, "sched_getaffinity")
    assert system.usable_cpus() == os.cpu_count()


def test_a_devices_signals_are_named_as_on_linux() -> None:
    named = {number: signal_name(number) for number in range(70)}
    for member in signal.Signals:
        if member <= signal.SIGTERM:
            assert named[member] == f"{int(member)} ({member.name})"
    assert named[0] == "0"
    assert named[69] == "69"
