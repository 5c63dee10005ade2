"""The work that `./inv test` begins while it installs packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.dev import beforehand, shell
from trimtab.build import builder, toolchain
from trimtab.errors import BuildError


def test_a_runner_is_built_with_each_toolchain_and_a_failure_is_left_to_the_tests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requests: list[builder.BuildRequest] = []

    def build(request: builder.BuildRequest) -> None:
        requests.append(request)
        raise BuildError("no space left")

    monkeypatch.setattr(builder, "build", build)
    beforehand.compile_c_libraries()
    assert [request.toolchain for request in requests] == list(beforehand.TOOLCHAINS)
    assert {toolchain.find_toolchain(name).compiler for name in beforehand.TOOLCHAINS} == {"zig"}


def test_pytest_caches_the_tests_that_it_rewrites(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_one.py").write_text("def test_sum() -> None:\n    assert 1 + 1 == 2\n")
    monkeypatch.setattr(shell, "ROOT", tmp_path)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    beforehand.rewrite_assertions()
    assert list((tmp_path / "tests/__pycache__").glob("test_one.*-pytest-*.pyc"))
