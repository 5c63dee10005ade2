"""Commits of kernels carry figures."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lab.dev import commits, shell

BODIES = {
    "ops: no kernel": ("runtime/ops/relu.cpp", ""),
    "kernels: bare": ("kernels/generic/a.h", "Faster.\n"),
    "kernels: timed": ("kernels/generic/a.h", "Cortex-A53, 1x64x56x56: 937 -> 20 us\n"),
    "kernels: named": ("kernels/arm/b.cpp", "Names alone: same code on armv7 and aarch64.\n"),
    "kernels: one figure": ("kernels/arm/b.cpp", "Takes 20 us.\n"),
    "kernels: a table": ("kernels/isa.toml", ""),
}


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the check's file, then a commit for each of BODIES."""
    monkeypatch.setattr(shell, "ROOT", tmp_path)
    _git(tmp_path, "init", "-q")
    _commit(tmp_path, "kernels/old.h", "kernels: before the check", "")
    _commit(tmp_path, "lab/dev/commits.py", "lab: the check", "")
    for subject, (file, body) in BODIES.items():
        _commit(tmp_path, file, subject, body)
    return tmp_path


def _git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *who, *words], cwd=folder, check=True)


def _commit(folder: Path, file: str, subject: str, body: str) -> None:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(subject)
    _git(folder, "add", file)
    _git(folder, "commit", "-q", "-m", subject, "-m", body)


def test_kernels_without_figures_are_named(
    history: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commits.main() == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" ", 1)[1].rsplit(":", 1)[0] for line in lines] == [
        "kernels: one figure",
        "kernels: bare",
    ]


def test_only_commits_since_a_release_count(history: Path) -> None:
    _git(history, "tag", "v7.0.0")
    assert commits.main() == 0
    _commit(history, "kernels/generic/a.h", "kernels: later", "")
    assert commits.main() == 1
