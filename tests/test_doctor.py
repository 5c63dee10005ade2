"""`doctor` and `setup`, with a PATH that contains only the test's programs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.recorded_progress import RecordedProgress
from trimtab import doctor, paths, tables
from trimtab.errors import MissingRequirementError
from trimtab.tables import Table


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("ANDROID_NDK_HOME", raising=False)
    return tmp_path


def program(folder: Path, name: str, script: str = "exit 0") -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def row(name: str) -> doctor.Requirement:
    return next(r for r in doctor.examine() if r.name == name)


def test_a_program_in_path_has_a_location_and_an_absent_one_a_command(machine: Path) -> None:
    assert not row("qemu-system-aarch64").location
    assert row("qemu-system-aarch64").remedy == "sudo apt-get install qemu-system-arm"
    program(machine, "qemu-system-aarch64")
    assert row("qemu-system-aarch64").location == str(machine / "qemu-system-aarch64")


def test_the_compilers_and_emulators_of_toolchains_are_examined(machine: Path) -> None:
    assert row("aarch64-linux-gnu-g++").package == "g++-aarch64-linux-gnu"
    # Debian's names of packages have no underscore.
    assert row("x86_64-linux-gnu-g++").package == "g++-x86-64-linux-gnu"
    assert "armv7-linux-musleabihf" in row("qemu-arm").purpose


@pytest.mark.usefixtures("machine")
def test_a_missing_optional_requirement_does_not_stop_the_main_job() -> None:
    doctor.require(doctor.examine())


def test_a_missing_needed_requirement_stops_it_and_names_the_remedy() -> None:
    gone = doctor.Requirement("ziglang", "compiler", "", "", "pip install ziglang", needed=True)
    with pytest.raises(MissingRequirementError, match="cannot run without ziglang") as stopped:
        doctor.require([gone])
    assert stopped.value.exit_code == 50
    assert stopped.value.hint == "pip install ziglang"
    assert "MISSING" in tables.text(doctor.page([gone]))
    assert json.loads(doctor.as_json([gone]))[0]["needed"] is True


@pytest.fixture
def apt(machine: Path) -> Path:
    """An apt-get that notes its arguments in this file, in a release that has no cpio."""
    log = machine / "log"
    for name in ("env", "sudo"):
        program(machine, name, 'shift; exec "$@"')
    program(machine, "true")
    program(machine, "apt-get", f'echo "$@" >>{log}')
    program(machine, "apt-cache", '[ "$2" != cpio ]')
    return log


def test_setup_installs_all_missing_packages_at_once(apt: Path) -> None:
    doctor.install(doctor.examine())
    update, install = apt.read_text().splitlines()
    assert update == "-qq update"
    assert {"qemu-system-arm", "clang", "libclang-rt-dev"} <= set(install.split())
    assert "--no-install-recommends" in install


def test_setup_continues_without_a_package_that_the_release_lacks(apt: Path) -> None:
    progress = RecordedProgress()
    doctor.install(doctor.examine(), progress)
    assert "cpio" not in apt.read_text().split()
    assert "this release has no cpio: continuing without" in progress.lines


def test_requirements_of_tests_are_listed_apart(machine: Path) -> None:
    development = {r.name for r in doctor.examine() if r.development}
    assert development == {
        *("sshd", "ssh-keygen", "adb", "busybox", "toybox", "mksh", "tcsh", "fish"),
        *(
            "zstd",
            "cpio",
            "readelf",
            "shellcheck",
            "clang",
            "llvm-cov",
            "llvm-mca-19",
            "compare.py",
            "chromium-headless-shell",
            "minisign",
        ),
        *("cc", "c++", "make", "pkg-config", "ps"),
        f"libclang_rt.asan-{os.uname().machine}.so",
    }
    main, apart, _ = doctor.page(doctor.examine())
    assert isinstance(main, Table)
    assert isinstance(apart, Table)
    assert apart.title.startswith("Only for the tests")
    assert {row[1] for row in apart.rows} == development
    assert not development & {row[1] for row in main.rows}


@pytest.mark.parametrize("name", ["qemu-system-aarch64", "dpkg-deb"])
def test_the_package_calls_every_program_that_a_user_is_asked_to_install(name: str) -> None:
    assert not row(name).development
    sources = [
        path for path in paths.package().rglob("*.py") if path.stem not in {"doctor", "demo"}
    ]
    assert any(f'"{name}"' in source.read_text() for source in sources)


def test_an_installed_trimtab_does_not_list_requirements_of_its_tests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(paths, "is_checkout", lambda: False)
    monkeypatch.setattr(doctor, "list_toolchains", list)
    assert not [r for r in doctor.examine() if r.development]


def test_setup_without_rights_prints_the_command(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(machine, "apt-get")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(MissingRequirementError, match="needs root") as stopped:
        doctor.install(doctor.examine())
    assert "sudo apt-get install" in stopped.value.hint
    assert "qemu-system-arm" in stopped.value.hint
