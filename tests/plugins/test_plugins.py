"""Discovery of plug-ins, and the handling of invalid ones. Nothing is compiled here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trimtab import errors, paths, schema

SCHEMA = """
doc = "y = x."
layout = "any"
dtypes = ["f32"]
[[inputs]]
name = "x"
doc = "input"
[[outputs]]
name = "y"
doc = "shape of x"
"""
PARSER = """
from trimtab import operator_parser
@operator_parser(framework={framework!r}, origin={origin!r}, op={op!r}, replaces={replaces})
def parse(layer, graph):
    return graph.add({op!r}, layer.x(0))
"""
PACKAGE = paths.package()
PASS = "ORDER = {order}\n\n\ndef run(program):\n    {body}\n"
KERNEL = """
TRIMTAB_FAMILY({types})
inline void Bad(const BadArgs<Element>& args) {{}}
"""


def plugin(folder: Path, **files: str) -> Path:
    """A plug-in with an operator called as its folder, and more `files`: room__name of a .py."""
    (folder / "ops").mkdir(parents=True)
    (folder / "ops" / f"{folder.name}.toml").write_text(SCHEMA)
    (folder / "ops" / f"{folder.name}.cpp").write_text("")
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder


def run(cwd: Path, *plugins: Path, search: str = "") -> subprocess.CompletedProcess[str]:
    """`plugins --json` in a folder, with these plug-ins asked for."""
    argv = [sys.executable, "-m", "trimtab.cli", "plugins", "--json"]
    for folder in plugins:
        argv += ["--plugin", str(folder)]
    environment = os.environ | {"TRIMTAB_PLUGIN_PATH": search}
    return subprocess.run(
        argv, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def parts(done: subprocess.CompletedProcess[str]) -> set[tuple[str, str, str]]:
    """(plug-in, room, name) of what was listed."""
    assert done.returncode == 0, done.stderr
    return {(row["plug-in"], row["room"], row["name"]) for row in json.loads(done.stdout)}


def test_without_sources_there_are_no_plug_ins(tmp_path: Path) -> None:
    assert parts(run(tmp_path)) == set()


def test_plug_ins_are_found_by_option_path_and_project(tmp_path: Path) -> None:
    requested, searched, named = (
        plugin(tmp_path / "far" / name) for name in ("one", "two", "three")
    )
    project = tmp_path / "project" / "deep"
    project.mkdir(parents=True)
    listed = '[tool.trimtab]\nplugins = ["../far/three"]\n'
    (project.parent / "pyproject.toml").write_text(listed)
    result = parts(run(project, requested, search=str(searched)))
    assert {("one", "ops", "one"), ("two", "ops", "two"), ("three", "ops", "three")} <= result
    assert ("three", "from", str(named)) in result


def test_an_entry_point_of_a_package_is_a_plug_in(tmp_path: Path) -> None:
    plugin(tmp_path / "site" / "my_plugin")
    (tmp_path / "site" / "my_plugin" / "__init__.py").write_text("")
    info = tmp_path / "site" / "my_plugin-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-plugin\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[trimtab.plugins]\nmine = my_plugin\n")
    argv = [sys.executable, "-m", "trimtab.cli", "plugins", "--json"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(
        argv, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ("mine", "ops", "my_plugin") in parts(done)


def test_an_invalid_folder_is_an_error_with_its_own_exit_code(tmp_path: Path) -> None:
    for folder in (tmp_path / "nowhere", tmp_path):
        done = run(tmp_path, folder)
        assert done.returncode == errors.PluginError.exit_code
        assert str(folder) in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("files", "messages"),
    [
        ({"importers__a": "import nothing_of_this_name"}, ["a.py:1", "ModuleNotFoundError"]),
        ({"importers__a": "x = 1\ny = ("}, ["a.py:2", "SyntaxError"]),
        (
            {"importers__a": PARSER.format(framework="cafe", origin="A", op="bad", replaces=False)},
            ["a.py:3", "no framework 'cafe'"],
        ),
        (
            {"importers__a": PARSER.format(framework="caffe", origin="A", op="no", replaces=False)},
            ["a.py:3", "no operator 'no'"],
        ),
    ],
)
def test_an_invalid_plug_in_is_named_with_its_line_and_others_are_unaffected(
    tmp_path: Path, files: dict[str, str], messages: list[str]
) -> None:
    bad, good = plugin(tmp_path / "bad", **files), plugin(tmp_path / "good")
    done = run(tmp_path, search=f"{bad}{os.pathsep}{good}")
    assert ("good", "ops", "good") in parts(done)
    for text in ("plug-in bad", *messages):
        assert text in done.stderr
    requested = run(tmp_path, bad)
    assert all(text in requested.stdout + requested.stderr for text in messages)


@pytest.mark.parametrize(
    ("name", "text", "messages"),
    [
        ("softmax", SCHEMA, "operator softmax already exists"),
        ("mine", 'replaces = "softmax"\n' + SCHEMA, "does not name another operator"),
        ("softmax", 'replaces = "softmax"\n' + SCHEMA, "inputs, outputs or attributes differ"),
        ("mine", "id = 3\n" + SCHEMA, "id 3 is outside the range of plug-ins"),
        ("mine", SCHEMA.replace('layout = "any"', ""), "layout"),
        ("Mine", SCHEMA, "snake_case"),
    ],
)
def test_an_invalid_schema_names_its_file(
    tmp_path: Path, name: str, text: str, messages: str
) -> None:
    folder = tmp_path / "bad"
    (folder / "ops").mkdir(parents=True)
    (folder / "ops" / f"{name}.toml").write_text(text)
    (folder / "ops" / f"{name}.cpp").write_text("")
    done = run(tmp_path, folder)
    assert messages in done.stdout + done.stderr
    assert f"{name}.toml" in done.stdout + done.stderr


def test_an_operator_without_a_source_and_one_outside_the_folder_are_refused(
    tmp_path: Path,
) -> None:
    bare = plugin(tmp_path / "bare")
    (bare / "ops" / "bare.cpp").unlink()
    assert "the operator has no source, bare.cpp" in run(tmp_path, bare).stdout
    away = plugin(tmp_path / "away")
    (away / "ops" / "far.toml").symlink_to(bare / "ops" / "bare.toml")
    assert "outside the plug-in's folder" in run(tmp_path, away).stdout


def test_ids_of_plug_ins_are_derived_from_names_and_above_those_of_trimtab() -> None:
    assert max(op.id for op in schema.operators().values()) < 0x8000


def test_invalid_passes_and_reports_are_excluded_by_file(
    tmp_path: Path,
) -> None:
    wrong = {
        "passes/bare.py": ("def run(program):\n    pass\n", "does not define ORDER"),
        "passes/empty.py": ("x = 1\n", "does not define ORDER, run"),
        "passes/first.py": (PASS.format(order="'first'", body="pass"), "ORDER must be an int"),
        "passes/late.py": (
            PASS.format(order=200, body="pass"),
            f"ORDER 200 is used by remove_no_ops in {PACKAGE}/passes/remove_no_ops.py",
        ),
        "passes/fuse_pad.py": (
            PASS.format(order=201, body="pass"),
            f"{PACKAGE}/passes/fuse_pad.py has the same name",
        ),
        "reports/csv.py": ("x = 1\n", f"{PACKAGE}/reports/formats/csv.py has the same name"),
        "reports/mute.py": ("SUFFIX = '.txt'\n", "does not define IS_WHOLE, run, comparison"),
    }
    folders = []
    for name, (text, _) in wrong.items():
        path = Path(name).with_suffix("")
        folders.append(
            plugin(tmp_path / f"bad_{path.name}", **{f"{path.parent}__{path.name}": text})
        )
    folders.append(plugin(tmp_path / "good", passes__fine=PASS.format(order=203, body="pass")))
    done = run(tmp_path, search=os.pathsep.join(map(str, folders)))
    result = parts(done)
    assert {row for row in result if row[1] in ("passes", "reports")} == {
        ("good", "passes", "fine")
    }
    assert {folder.name for folder in folders} == {
        name for name, room, _ in result if room == "ops"
    }
    for folder, (name, (_, messages)) in zip(folders, wrong.items(), strict=False):
        assert f"{folder / name}: plug-in {folder.name}: {messages}" in done.stderr


def test_a_pass_of_a_requested_plug_in_cannot_reuse_an_order(tmp_path: Path) -> None:
    bad = plugin(tmp_path / "bad", passes__a=PASS.format(order=200, body="pass"))
    done = run(tmp_path, bad)
    assert "error: " in done.stdout
    assert "plug-in bad: ORDER 200 is used by remove_no_ops" in done.stdout


def test_an_exception_in_a_pass_names_plug_in_file_and_line(tmp_path: Path) -> None:
    plugin(tmp_path / "bad", passes__a=PASS.format(order=201, body="1 / 0"))
    program = (
        "from trimtab import passes\nfrom trimtab.program import Program\n"
        "passes.optimize(Program('net'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"TRIMTAB_PLUGIN_PATH": str(tmp_path / "bad")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "plug-in bad: ZeroDivisionError" in done.stderr
    assert "a.py:5" in done.stderr


def wrong_kernel(folder: Path) -> Path:
    """A plug-in whose family has no type."""
    output = plugin(folder)
    (output / "kernels" / "generic").mkdir(parents=True)
    (output / "kernels" / "generic" / "bad.h").write_text(KERNEL.format(types=""))
    return output


def test_an_invalid_kernel_of_a_discovered_plug_in_is_excluded(tmp_path: Path) -> None:
    bad, good = wrong_kernel(tmp_path / "bad"), plugin(tmp_path / "good")
    (good / "kernels" / "generic").mkdir(parents=True)
    text = KERNEL.format(types="f32, portable").replace("Bad", "Good")
    (good / "kernels" / "generic" / "good.h").write_text(text)
    done = run(tmp_path, search=f"{bad}{os.pathsep}{good}")
    result = parts(done)
    assert ("good", "kernels", "good_f32_portable") in result
    assert not {row for row in result if row[:2] == ("bad", "kernels")}
    assert "plug-in bad: family bad: it has no dtype" in done.stderr
    assert "bad.h:2" in done.stderr


def test_an_invalid_kernel_of_a_requested_plug_in_stops_the_build(
    tmp_path: Path,
) -> None:
    bad = wrong_kernel(tmp_path / "bad")
    argv = [sys.executable, "-m", "lab", "engine", "--plugin", str(bad)]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == errors.PluginError.exit_code, done.stderr
    assert "plug-in bad: family bad: it has no dtype" in done.stderr
    assert "bad.h:2" in done.stderr
    assert "compile" not in done.stderr


def test_the_configure_step_excludes_invalid_parts(tmp_path: Path) -> None:
    bad = wrong_kernel(tmp_path / "bad")
    argv = [sys.executable, "-m", "trimtab.build.codegen", "--profile", "squeezenet"]
    argv += ["--arch", "aarch64", "--output", str(tmp_path / "out"), "--plugin", str(bad)]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "bad.h:2" in done.stderr
    assert (tmp_path / "out" / "sources.cmake").is_file()
