"""Bare machines: what their tables read from pytest, and what a checkout installs there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lab.bare_machine import trial
from lab.dev import packages, shell
from trimtab import tables
from trimtab.errors import MissingRequirementError

TESTS = """
import pytest

def test_one(): pass
def test_two(): pass
def test_wrong(): assert 0
@pytest.fixture
def broken(): raise OSError
def test_error(broken): pass
@pytest.mark.parametrize("i", range(3))
def test_skipped(i): pytest.skip("sshd is not installed (apt-get install openssh-server)")
@pytest.mark.skip(reason="slow")
def test_slow(): pass
"""


def test_the_summary_of_pytest_is_counted_with_the_reasons_of_skips(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    argv = [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider", str(tmp_path)]
    printed = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    assert trial.counts(printed) == {
        "passed": 2,
        "failed": 2,
        "skipped": {"sshd is not installed (apt-get install openssh-server)": 3, "slow": 1},
    }
    assert trial.counts("no test was run") == {"passed": 0, "failed": 0, "skipped": {}}


def test_a_command_without_tests_has_no_counts_in_the_table() -> None:
    demo = trial.BareTrial("plain", "Debian 12", "./inv demo", 0, 200, 1000)
    test = trial.BareTrial("plain", "Debian 12", "./inv test", 1, 900, 3000, 20, 1, {"slow": 4})
    text = tables.text([trial.table([demo, test]), trial.skipped_table([demo, test])])
    first, second = (line.split() for line in text.splitlines() if "./inv" in line)
    assert first[-2:] == ["200", "1,000"]
    assert second[-4:] == ["3,000", "20", "1", "4"]
    assert "with 1" in text


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a lock, whose `.venv` is the running environment; its Python is a program
    that notes how it is called.
    """
    python = tmp_path / ".venv" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/log\n')
    python.chmod(0o755)
    (tmp_path / "requirements-dev.lock").write_text("pytest==9.0\n")
    monkeypatch.setattr(shell, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.setattr(sys, "executable", str(python))
    return tmp_path


def test_developers_packages_are_installed_once_per_lock(checkout: Path) -> None:
    packages.ensure()
    packages.ensure()
    (line,) = (checkout / "log").read_text().splitlines()
    assert "--require-hashes" in line
    assert line.endswith(f"--requirement={checkout}/requirements-dev.lock")
    (checkout / "requirements-dev.lock").write_text("pytest==9.1\n")
    packages.ensure()
    assert len((checkout / "log").read_text().splitlines()) == 2


def test_a_failed_installation_is_tried_again(checkout: Path) -> None:
    (checkout / ".venv" / "python").write_text("#!/bin/sh\nexit 1\n")
    for _ in range(2):
        with pytest.raises(MissingRequirementError, match="pip failed"):
            packages.ensure()


def test_nothing_is_installed_into_an_environment_of_others(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(checkout / "conda"))
    packages.ensure()
    assert not (checkout / "log").exists()


def test_a_machine_that_is_tried_again_takes_the_place_of_its_rows() -> None:
    old = [trial.BareTrial("plain", name, "./inv demo", 0, 200, 1000) for name in ("a", "b")]
    new = trial.BareTrial("plain", "b", "./inv demo", 1, 300, 1000, commit="c0ffee00")
    results = trial.to_results([new], old, "./inv bare.machine", {})
    assert [(row["system"], row["seconds"]) for row in results.rows] == [("a", 200), ("b", 300)]


def test_reasons_that_name_a_case_are_counted_together() -> None:
    lines = "SKIPPED [2] tests/a.py:1: GCC knows apple-m1 from version 15 on\n"
    lines += "SKIPPED [3] tests/a.py:1: GCC knows zen5 from version 14 on\n"
    assert trial.counts(lines)["skipped"] == {"GCC is older than the core": 5}
