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
from tests.some import some
from trimtab import errors
from trimtab.cli import INTERRUPTED, collect, with_messages
from trimtab.cli._program import TaskProgram
from trimtab.pipeline.resolve import read_plan


def test_an_error_becomes_a_message_and_its_exit_code() -> None:
    def body() -> None:
        raise errors.ToolchainError("unknown toolchain 'x'", where="here", hint="use another")

    with pytest.raises(Exit) as stopped:
        with_messages(body)()
    assert stopped.value.code == errors.ToolchainError.exit_code
    assert stopped.value.message == "error: here: unknown toolchain 'x'\n  next: use another"


def test_a_refused_file_becomes_a_message_with_its_path() -> None:
    with pytest.raises(Exit) as stopped:
        with_messages(lambda: open("/nowhere/at/all"))()  # noqa: PTH123, SIM115
    assert stopped.value.code == errors.FileAccessError.exit_code
    assert "/nowhere/at/all: No such file or directory" in (stopped.value.message or "")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--threads", "two"), errors.UsageError.exit_code, "must be a whole number, not 'two'"),
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
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
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
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0
    assert text in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "what", "next_step"),
    [
        (("biuld",), "there is no task 'biuld'", "did you mean build? All: ./inv --list"),
        (("zzz",), "there is no task 'zzz'", "./inv --list"),
        (("--lits",), "there is no option --lits", "did you mean --list? All: ./inv --list"),
        (
            ("bench", "--modle", "x"),
            "bench: there is no option --modle",
            "did you mean --model? All: ./inv bench --help",
        ),
        (("bench", "--model"), "bench: --model needs a value", "./inv bench --help"),
        (("bench", "--model", "--json"), "bench: --model needs a value", "./inv bench --help"),
        (
            ("bench", "--max-celsius=hot"),
            "bench: --max-celsius must be a number, not 'hot'",
            "./inv bench --help",
        ),
        (
            ("build", "-t", "x", "--threads", "1.5"),
            "build: --threads must be a whole number, not '1.5'",
            "./inv build --help",
        ),
        (
            ("device.unlock", "a", "b"),
            "device.unlock: no option takes 'b'",
            "./inv device.unlock --help",
        ),
    ],
)
def test_a_typing_error_is_named_with_what_was_meant(
    words: tuple[str, ...], what: str, next_step: str
) -> None:
    command = [sys.executable, "-m", "trimtab.cli", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.stderr == f"error: {what}\n  next: {next_step}\n"
    assert done.returncode == errors.UsageError.exit_code


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("bench",), "which model?"),
        (("bench", "--model", "resnet18", "--device", "pi44"), "unknown device 'pi44'"),
        (("bench", "--model", "resnet18", "--toolchain", "x"), "there is no toolchain 'x'"),
        (("bench", "--model", "resnet81"), "did you mean the zoo's 'resnet18'"),
        (("bench.ab", "resnet18", "resnet18", "--device", "pi44"), "unknown device 'pi44'"),
        (("build", "--model", "resnet18", "--cpu", "pentium"), "pentium"),
        (("build", "--profile", "nothing"), "nothing"),
        (("convert", "/nowhere.onnx", "x.ttm"), "there is no such file"),
        (("inspect", "/nowhere.onnx"), "there is no such file"),
        (("profile",), "name at least one model"),
        (("profile", "/nowhere.onnx"), "there is no such file"),
        (("quantize", "/nowhere.onnx", "x.ttm"), "there is no such file"),
        (("sweep", "/nowhere.toml"), "/nowhere.toml"),
    ],
)
def test_a_name_that_does_not_exist_is_refused_before_the_engine_is_built(
    words: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def build(*_: object) -> None:
        raise AssertionError("it was built")

    monkeypatch.setattr("trimtab.build.host_build.build_engine", build)
    program = TaskProgram(collect(), name="trimtab", version="1")
    with pytest.raises(SystemExit) as stopped:
        program.run(["trimtab", *words])
    assert message in capsys.readouterr().err
    assert stopped.value.code not in (0, None)


@pytest.mark.parametrize(
    ("words", "what", "complete"),
    [
        (("device.unlock",), "device.unlock: NAME is missing", "device.unlock NAME"),
        (("bench.ab", "x"), "bench.ab: B is missing", "bench.ab A B"),
        (("convert",), "OUTPUT is missing: the file to write", "convert MODEL OUTPUT"),
    ],
)
def test_a_task_without_an_argument_says_which_and_shows_the_complete_line(
    words: tuple[str, ...], what: str, complete: str
) -> None:
    command = [sys.executable, "-m", "trimtab.cli", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
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
        with_messages(body)()
    assert stopped.value.code == INTERRUPTED


def test_a_bug_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        with_messages(lambda: 1 // 0)()


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
    options = [(n, option) for n in namespace.task_names for option in namespace[n].get_arguments()]
    for name, option in some(options):
        assert all(re.fullmatch(r"[a-z0-9][\w-]*", word) for word in option.names), name


@pytest.mark.parametrize("option", ["prefer", "weights", "precision"])
def test_a_misspelled_choice_is_a_usage_error_that_lists_the_choices(option: str) -> None:
    with pytest.raises(errors.UsageError, match=f"{option} cannot be 'intt8'") as caught:
        read_plan("", **{option: "intt8"})  # type: ignore[arg-type]
    assert "use " in caught.value.hint


def test_tasks_have_the_namespace_of_their_module() -> None:
    assert {"device.show", "device.unlock", "plugin.new"} <= set(namespace.task_names)


def test_listing_the_tasks_loads_no_heavy_package() -> None:
    program = (
        "import sys, trimtab.cli\n"
        "print(sorted({'numpy', 'onnx', 'cryptography', 'elftools', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
