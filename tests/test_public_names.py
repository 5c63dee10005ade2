"""The public names of the package."""

from __future__ import annotations

import ast
import importlib
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest

import trimtab
from trimtab import errors

# Every name that users may have: none is ever taken from this list.
PUBLISHED = [
    "GraphBuilder",
    "Layer",
    "OperatorCase",
    "Plan",
    "Profile",
    "Program",
    "Session",
    "Target",
    "TensorType",
    "TrimtabError",
    "errors",
    "load",
    "load_plugin",
    "operator",
    "operator_parser",
    "optimize",
    "plugins",
    "profile_of",
    "quantize",
]


PUBLIC = [name for name in dir(trimtab) if not name.startswith("__")]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_can_be_used(name: str) -> None:
    assert getattr(trimtab, name) is not None


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_name_stays_or_is_deprecated(name: str) -> None:
    assert name in PUBLIC or name in trimtab.__deprecated__


def test_type_checkers_see_the_public_names_and_their_modules() -> None:
    tree = ast.parse(Path(str(trimtab.__file__)).read_text())
    (block,) = (
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    modules = dict[str, str]()
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert alias.asname == alias.name  # what makes it a public name for them
            is_module = node.module == "trimtab"
            modules[alias.name] = f"trimtab.{alias.name}" if is_module else str(node.module)
    assert modules.keys() == {*PUBLIC}
    for name, module in modules.items():
        is_module = module == f"trimtab.{name}"
        imported = importlib.import_module(module)
        assert getattr(trimtab, name) is (imported if is_module else getattr(imported, name))


def test_a_name_that_went_warns_and_names_its_replacement(monkeypatch: pytest.MonkeyPatch) -> None:
    old = "compile"
    monkeypatch.setitem(trimtab.__deprecated__, old, "trimtab.session.optimize")
    with pytest.warns(DeprecationWarning, match=r"use trimtab\.session\.optimize") as caught:
        assert getattr(trimtab, old) is trimtab.optimize
    assert caught[0].filename == __file__
    assert old not in dir(trimtab)


def test_dir_and_help_show_the_public_names() -> None:
    assert set(PUBLISHED) <= set(dir(trimtab))
    text = pydoc.plain(pydoc.render_doc(trimtab))
    assert "class Session(" in text
    # Python 3.13 begins a line for each parameter of a long signature.
    for name, first in (("load", "model: "), ("quantize", "program: "), ("run", "self,")):
        assert re.search(rf"\b{name}\([\s|]*{first}", text), name


def test_the_package_has_type_information(tmp_path: Path) -> None:
    assert Path(str(trimtab.__file__)).with_name("py.typed").exists()
    user = tmp_path / "user.py"
    user.write_text("import trimtab\nreveal_type(trimtab.Session('a').inputs)\ntrimtab.nothing\n")
    argv = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(user)]
    argv.insert(-1, "--follow-imports=silent")
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "trimtab.session.TensorType" in done.stdout
    assert 'Module has no attribute "nothing"' in done.stdout


def test_the_base_of_all_errors_is_public() -> None:
    assert trimtab.TrimtabError is errors.TrimtabError


def test_an_unknown_name_is_an_attribute_error() -> None:
    name = "nothing"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(trimtab, name)


def test_importing_the_package_loads_no_heavy_package() -> None:
    program = "import sys, trimtab; print({'numpy', 'onnx'} & set(sys.modules))"
    argv = [sys.executable, "-c", program]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
