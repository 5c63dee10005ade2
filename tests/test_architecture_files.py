"""Rules for files, of sources and of what they write, enforced on the Python sources."""

from __future__ import annotations

import ast
from fnmatch import fnmatch

import pytest

from tests.some import some
from tests.sources import OWN, ROOT, cpp_sources

# What grows while somebody reads it: the output of programs that run.
LOGS = {
    "trimtab.build.cmake_runner",
    "trimtab.devices.board.machine",
    "trimtab.devices.ssh.openssh",
}


# Modules with texts on tasks that only a checkout has.
DEVELOPERS = {
    *("trimtab.bench.golden", "trimtab.engine", "trimtab.planner.code_bytes"),
    "trimtab.results.peer_figures",
}


def is_write(call: ast.Call) -> bool:
    """Whether a call opens or writes a file otherwise than through trimtab.files."""
    if not isinstance(call.func, ast.Attribute):
        return False
    receiver, called = ast.unparse(call.func.value), call.func.attr
    if called == "open":  # of a part, trimtab.files knows
        modes = {str(a.value)[:1] for a in call.args[:1] if isinstance(a, ast.Constant)}
        return bool(modes & {"w", "a", "x"}) and "part" not in receiver
    return called in {"write_text", "write_bytes", "fsync", "flock"} and receiver != "files"


@pytest.mark.parametrize("name", sorted(OWN.keys() - LOGS - {"trimtab.files"}))
def test_files_are_written_in_one_way(name: str) -> None:
    calls = [n for n in ast.walk(ast.parse(OWN[name].read_text())) if isinstance(n, ast.Call)]
    by_hand = [call.lineno for call in calls if is_write(call)]
    assert not by_hand, f"{OWN[name]} writes files by itself in lines {by_hand}"


def test_texts_name_the_command_that_a_user_has() -> None:
    """`./inv` in a checkout, `trimtab` where it is installed: `trimtab.paths.PROGRAM`."""
    for name in some(sorted(OWN.keys() - DEVELOPERS)):
        if not name.startswith("trimtab."):
            continue
        tree = ast.parse(OWN[name].read_text())
        statements = [node for node in ast.walk(tree) if isinstance(node, ast.Expr)]
        documents = {id(statement.value) for statement in statements}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert id(node) in documents or "./inv " not in node.value, f"{name}: {node.lineno}"


def test_absolute_imports_only() -> None:
    for name, path in some(OWN.items()):
        for node in ast.walk(ast.parse(path.read_text())):
            assert not (isinstance(node, ast.ImportFrom) and node.level), f"{name}: {node.lineno}"


def test_nine_files_of_ten_are_under_400_lines_and_none_is_over_700() -> None:
    own = [
        path
        for pattern in ("trimtab/**/*.py", "lab/**/*.py", "tests/**/*.py", "*.py")
        for path in ROOT.glob(pattern)
        if "_resources" not in path.parts
    ] + cpp_sources()
    lengths = {path: len(path.read_text().splitlines()) for path in own}
    long = sorted(str(p.relative_to(ROOT)) for p, n in lengths.items() if n >= 400)
    assert len(long) <= 0.1 * len(lengths), long
    assert not [str(p) for p, n in lengths.items() if n > 700]


def test_no_folder_of_tests_is_left_out(pytestconfig: pytest.Config) -> None:
    """pytest ignores folders called `build` by default."""
    folders = {path.parent.name for path in (ROOT / "tests").rglob("test_*.py")}
    left_out = pytestconfig.getini("norecursedirs")
    assert "build" in folders
    assert not [name for name in folders for pattern in left_out if fnmatch(name, pattern)]
