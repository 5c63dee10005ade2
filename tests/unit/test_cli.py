"""The command line's one catch point, and how tasks are found."""

from __future__ import annotations

import subprocess
import sys

import pytest
from invoke.exceptions import Exit

from trimtab import errors
from trimtab.cli import INTERRUPTED, _guarded, namespace


def test_our_errors_become_a_message_and_their_exit_code() -> None:
    def body() -> None:
        raise errors.ToolchainError("unknown toolchain 'x'", where="here", hint="use another")

    with pytest.raises(Exit) as stopped:
        _guarded(body)()
    assert stopped.value.code == errors.ToolchainError.exit_code
    assert stopped.value.message == "error: here: unknown toolchain 'x'\n  next: use another"


def test_a_refused_file_becomes_a_message_with_its_path() -> None:
    with pytest.raises(Exit) as stopped:
        _guarded(lambda: open("/nowhere/at/all"))()  # noqa: PTH123, SIM115
    assert stopped.value.code == errors.FileAccessError.exit_code
    assert "/nowhere/at/all: No such file or directory" in (stopped.value.message or "")


def test_control_c_exits_as_a_shell_reports_it() -> None:
    def body() -> None:
        raise KeyboardInterrupt

    with pytest.raises(Exit) as stopped:
        _guarded(body)()
    assert stopped.value.code == INTERRUPTED


def test_a_bug_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        _guarded(lambda: 1 // 0)()


def test_every_error_has_an_exit_code_of_its_own() -> None:
    classes = [
        c
        for c in vars(errors).values()
        if isinstance(c, type) and issubclass(c, errors.TrimtabError)
    ]
    codes = {c.exit_code: c for c in classes}
    assert len(codes) == len(classes)
    # From 128 on, a shell reports signals; 0 is success.
    assert all(0 < code < 128 for code in codes)
    assert all(c.__doc__ for c in classes)


def test_grouped_tasks_carry_their_module_s_namespace() -> None:
    assert {"board.up", "board.down", "board.status"} <= set(namespace.task_names)


def test_listing_the_tasks_loads_no_heavy_package() -> None:
    program = (
        "import sys, trimtab.cli\n"
        "print(sorted({'numpy', 'onnx', 'paramiko', 'elftools', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
