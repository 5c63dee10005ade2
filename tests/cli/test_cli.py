"""The command line: errors as messages and exit codes, help, and the collection of tasks."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from invoke.exceptions import Exit
from scikit_build_core.metadata import regex

import trimtab
from tasks import namespace
from trimtab import errors
from trimtab.cli import INTERRUPTED, _guarded
from trimtab.pipeline.resolve import read_plan


def test_an_error_becomes_a_message_and_its_exit_code() -> None:
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


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--threads", "two"), 1, "a number is expected"),
        (("--timeout", "nan"), errors.UsageError.exit_code, "timeout is nan"),
        (("--timeout", "inf"), errors.UsageError.exit_code, "timeout is inf"),
        (("--format", "odt", "--output", "x"), errors.UsageError.exit_code, "format 'odt'"),
        (("--output", "/proc/none/x"), errors.ResultError.exit_code, "/proc/none/x"),
        (("--output", "/tmp"), errors.ResultError.exit_code, "Is a directory"),
    ],
)
def test_bench_refuses_invalid_options_before_it_builds_anything(
    words: tuple[str, ...], code: int, message: str
) -> None:
    command = [sys.executable, "-m", "trimtab.cli", "bench", "--model", "/nowhere.onnx", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == code


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("bench", "--help"), "--governor=STRING"),
        (("bench.ab", "--help"), "--b-threads=INT"),
        (("calibrate", "--help"), "with --duet: run both arms"),
        (("pack", "--help"), "the folder of a build"),
        (("--help", "device.unlock"), "this ends its runner"),
    ],
)
def test_the_help_of_a_task_needs_no_arguments_and_explains_its_options(
    words: tuple[str, ...], text: str
) -> None:
    command = [sys.executable, "-m", "trimtab.cli", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0
    assert text in " ".join(done.stdout.split())


def test_an_unknown_task_is_an_error() -> None:
    command = [sys.executable, "-m", "trimtab.cli", "nonsense"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    assert "No idea what 'nonsense' is!" in done.stderr


@pytest.mark.parametrize(
    ("words", "what", "complete"),
    [
        (("device",), "device: NAME is missing: device (", "device NAME"),
        (("device.unlock",), "device.unlock: NAME is missing", "device.unlock NAME"),
        (("bench.ab", "x"), "bench.ab: B is missing", "bench.ab A B"),
        (("convert",), "OUTPUT is missing: the file to write", "convert MODEL OUTPUT"),
    ],
)
def test_a_task_without_an_argument_says_which_and_shows_the_complete_line(
    words: tuple[str, ...], what: str, complete: str
) -> None:
    command = [sys.executable, "-m", "trimtab.cli", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == errors.UsageError.exit_code
    assert done.stderr.startswith("error: ")
    assert what in done.stderr
    assert f"  next: ./inv {complete}\n" in done.stderr


def test_an_error_message_is_short_for_any_text_of_a_file() -> None:
    # A name of a megabyte, in a model of a megabyte.
    error = errors.ModelFileError("n" * 1_000_000, where="w" * 1_000_000, hint="h" * 1_000_000)
    assert len(str(error)) < 20_000
    assert "more characters" in str(error)


def test_ctrl_c_exits_with_the_code_that_shells_report() -> None:
    def body() -> None:
        raise KeyboardInterrupt

    with pytest.raises(Exit) as stopped:
        _guarded(body)()
    assert stopped.value.code == INTERRUPTED


def test_a_bug_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        _guarded(lambda: 1 // 0)()


def test_every_error_has_its_own_exit_code() -> None:
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


def test_the_version_is_written_in_the_package_and_in_the_c_header_alone() -> None:
    root = Path(__file__).resolve().parents[2]
    listed = subprocess.run(
        ["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True
    )
    suffixes = {".py", ".toml", ".txt", ".cmake", ".cpp", ".h", ".in", ".c"}
    sources = [root / name for name in listed.stdout.splitlines() if Path(name).suffix in suffixes]
    holders = [
        source.relative_to(root).as_posix()
        for source in sources
        if re.search(rf"""['"v ]{re.escape(trimtab.__version__)}['"]""", source.read_text())
    ]
    assert holders == ["runtime/api/trimtab.h", "trimtab/__init__.py"]


def test_a_wheel_gets_the_version_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).resolve().parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    settings = project["tool"]["scikit-build"]["metadata"]["version"]
    assert settings.pop("provider") == regex.__name__
    monkeypatch.chdir(root)
    assert regex.dynamic_metadata("version", settings) == trimtab.__version__


def test_the_names_of_options_are_words_or_letters() -> None:
    for name in namespace.task_names:
        for option in namespace[name].get_arguments():
            assert all(re.fullmatch(r"[a-z0-9][\w-]*", word) for word in option.names), name


@pytest.mark.parametrize("option", ["prefer", "weights", "precision"])
def test_a_misspelled_choice_is_a_usage_error_that_lists_the_choices(option: str) -> None:
    with pytest.raises(errors.UsageError, match=f"{option} cannot be 'intt8'") as caught:
        read_plan("", **{option: "intt8"})  # type: ignore[arg-type]
    assert "use " in caught.value.hint


def test_tasks_have_the_namespace_of_their_module() -> None:
    assert {"board.up", "board.down", "board.status"} <= set(namespace.task_names)


def test_listing_the_tasks_loads_no_heavy_package() -> None:
    program = (
        "import sys, trimtab.cli\n"
        "print(sorted({'numpy', 'onnx', 'cryptography', 'elftools', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
