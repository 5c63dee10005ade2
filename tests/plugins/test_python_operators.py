"""Operators at run time: the C ABI of this and of earlier releases, invalid shared libraries, and
Python functions. numpy is the oracle.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.plugins.libraries import ABI, EXAMPLE, HEADER, compiled, python, run
from tests.plugins.test_examples import inv
from tests.some import some
from trimtab import errors, schema

RELEASES = sorted(int(folder.name) for folder in ABI.iterdir() if folder.name.isdigit())

# Uses of `weave` in one network, with odd sizes and tails, absent operands and every attribute.
WEAVE = """
import ctypes, json, sys
import numpy as np
import trimtab, trimtab.plugins

trimtab.plugins.add(sys.argv[1])
from trimtab.program import Program

trimtab.load_plugin(sys.argv[2])
random = np.random.default_rng(7)
program = Program("weaves")
expected, feeds = {}, {}
for case, (n, c, h, w, step, count, negative, has_bias) in enumerate(
    [
        (1, 3, 5, 7, 1, 3, False, True),
        (2, 5, 6, 1, 4, 2, True, False),
        (1, 17, 3, 9, 2, 1, False, True),
    ]
):
    x = random.normal(size=(n, c, h, w)).astype(np.float32)
    factors = random.normal(size=count).astype(np.float32)
    shifts = list(range(case))
    bias = random.normal(size=c).astype(np.float32) if has_bias else None
    name = program.add_input(f"x{case}", x.shape)
    b = [program.block.add_constant(bias, f"b{case}")] if has_bias else []
    given = {"factors": factors.tolist(), "shifts": shifts, "step": step, "negative": negative}
    outputs = program.block.add_op("weave", [name, *b], given, [f"y{case}", f"z{case}"])
    program.outputs += outputs
    feeds[name] = x
    tiled = np.resize(factors, c).reshape(1, c, 1, 1)
    addend = 0 if bias is None else bias.reshape(1, c, 1, 1)
    expected[f"y{case}"] = x[:, :, ::step] * tiled + addend + sum(shifts) * (1 if negative else -1)
session = trimtab.Session(program, threads=2)
for run in (1, 2):
    got = session.run(feeds)
    for name, want in expected.items():
        np.testing.assert_allclose(got[name], want, rtol=1e-5, atol=1e-6)
    assert all(got[f"z{case}"] == run for case in range(3)), got
living = ctypes.CDLL(sys.argv[2]).weave_living
before = living()
del session
print(json.dumps([before, living()]))
"""


@pytest.mark.parametrize("release", [*RELEASES, "today"])
def test_a_plug_in_of_each_release_works_with_this_engine(tmp_path: Path, release: object) -> None:
    header = HEADER if release == "today" else ABI / str(release)
    library = compiled(ABI / "exhaustive.c", tmp_path / "libweave.so", header=header)
    done = python(WEAVE, ABI, library, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    # Each use was destroyed, also those that only told their shapes.
    assert json.loads(done.stdout) == [3, 0]


def test_the_newest_frozen_header_has_its_abi_version() -> None:
    for release in some(RELEASES):
        text = (ABI / str(release) / "trimtab_plugin.h").read_text()
        assert f"#define TRIMTAB_PLUGIN_ABI {release}\n" in text


def test_the_header_is_c99_and_cpp(tmp_path: Path) -> None:
    (tmp_path / "one.cpp").write_text('#include "trimtab_plugin.h"\n#include "trimtab.h"\n')
    options = ("-std=c++17", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{HEADER}")
    run("c++", *options, "-c", tmp_path / "one.cpp", "-o", tmp_path / "one.o")


# Faults, as macros of bad.c, and their error messages.
BAD = {
    "WRONG_ABI": "is of another ABI (this engine has, it has): 1, 2",
    "UNWILLING": "is of another ABI",
    "SMALL_PLUGIN": "is of another ABI",
    "WRONG_OPERATOR_ABI": "an operator is of ABI 2, this engine has 1",
    "SMALL_STRUCT": "an operator's struct is too small",
    "NO_ENTRY": "has no trimtab_plugin_entry",
    "UNRESOLVED": "nobody_defines_this",
    "TAKEN": "there is an operator weave of {weave}",
    "CRASHES": "loading the library crashes",
}
LOAD = """
import json, sys, trimtab
from trimtab.errors import PluginError
said = {}
for path in sys.argv[1:]:
    try:
        trimtab.load_plugin(path)
        said[path] = ""
    except PluginError as error:
        said[path] = str(error)
print(json.dumps(said))
"""


def test_invalid_libraries_are_reported_and_others_are_unaffected(tmp_path: Path) -> None:
    weave = compiled(ABI / "exhaustive.c", tmp_path / "libweave.so")
    bad = {
        macro: compiled(ABI / "bad.c", tmp_path / f"lib{macro}.so", f"-D{macro}", "-Wno-unused")
        for macro in BAD
    }
    text = tmp_path / "libtext.so"
    text.write_text("no library\n")
    last = compiled(EXAMPLE / "soft_threshold.c", tmp_path / "liblast.so")
    paths = [weave, *bad.values(), text, tmp_path / "missing.so", last]
    done = python(LOAD, *paths, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    messages = json.loads(done.stdout)
    assert messages[str(weave)] == messages[str(last)] == ""
    for macro, path in bad.items():
        assert str(path) in messages[str(path)]
        assert BAD[macro].format(weave=weave) in messages[str(path)]
    assert "libtext.so" in messages[str(text)]
    assert "missing.so" in messages[str(tmp_path / "missing.so")]


EXAMPLE_SCRIPT = """
import sys, numpy as np, trimtab, trimtab.plugins
trimtab.plugins.add(sys.argv[1])
if len(sys.argv) > 2: trimtab.plugins.add(sys.argv[2])
program = trimtab.load(sys.argv[1] + "/tests/net.prototxt")
x = np.random.default_rng(3).normal(size=(1, 3, 7, 5)).astype(np.float32)
y = trimtab.Session(program).run({"data": x})["out"]
np.testing.assert_allclose(y, np.maximum(x - 0.75, 0), rtol=1e-6, atol=1e-7)
"""


def test_the_example_runs_in_python(tmp_path: Path) -> None:
    library = compiled(EXAMPLE / "soft_threshold.c", tmp_path / "libsoft_threshold.so")
    done = python(EXAMPLE_SCRIPT, EXAMPLE, library, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_an_operator_without_a_provider_is_named_with_a_remedy(tmp_path: Path) -> None:
    done = python(EXAMPLE_SCRIPT, EXAMPLE, cwd=tmp_path)
    assert "nothing in this process computes the operator soft_threshold" in done.stderr
    assert "@trimtab.operator" in done.stderr


FUNCTION = """
import sys, numpy as np, trimtab, trimtab.plugins
trimtab.plugins.add(sys.argv[1])

@trimtab.operator("weave")
def weave(x, bias=None, *, factors, shifts, step, negative):
    assert negative in (True, False) and isinstance(negative, bool)
    y = x[:, :, ::step] * np.resize(factors, x.shape[1]).reshape(1, -1, 1, 1)
    if x.max() > 100:
        raise ValueError("too bright")
    return y if x.min() < -100 else (y.astype(np.float32), np.array([4], np.int64))

from trimtab.program import Program
program = Program("one")
program.add_input("x", (1, 5, 4, 3))
given = {"factors": [1, 2], "step": 3}
program.outputs += program.block.add_op("weave", ["x"], given, ["y", "z"])
session = trimtab.Session(program)
x = np.random.default_rng(1).normal(size=(1, 5, 4, 3)).astype(np.float32)
got = session.run({"x": x})
factors = np.float32([1, 2, 1, 2, 1]).reshape(1, 5, 1, 1)
np.testing.assert_array_equal(got["y"], x[:, :, ::3] * factors)
assert got["z"] == 4

for wrong in (1000, -1000):
    try:
        session.run({"x": np.full_like(x, wrong)})
    except trimtab.errors.PluginError as error:
        print(error)
np.testing.assert_array_equal(session.run({"x": x})["y"], got["y"])  # and goes on

from trimtab.program import inspection
print([op.kernel for op in inspection.inspect(session.program).ops if op.type == "weave"])
try:
    trimtab.operator("weave")(lambda x: x)
except trimtab.errors.PluginError as error:
    print(error)
try:
    trimtab.operator("relu")(lambda x: x)
except trimtab.errors.PluginError as error:
    print(error)
from trimtab.build import builder
from pathlib import Path
try:
    builder.build(builder.BuildRequest(trimtab.profile_of(session.program), Path("out")))
except trimtab.errors.PluginError as error:
    print(error)
"""


ROOM = """
import numpy as np
from trimtab import operator

@operator("soft_threshold", shape=lambda x, threshold: x)
def soft_threshold(x, threshold):
    return np.sign(x) * np.maximum(np.abs(x) - threshold, 0)
"""


def test_tasks_import_the_functions_of_a_plug_in(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "example")
    (tmp_path / "example" / "functions").mkdir()
    (tmp_path / "example" / "functions" / "soft.py").write_text(ROOM)
    done = python(EXAMPLE_SCRIPT, tmp_path / "example", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    words = ("--plugin", "example", "build", "--model", "example/tests/net.prototxt")
    refused = inv(*words, cwd=tmp_path)
    assert refused.returncode == 27
    assert "Python functions: soft_threshold" in refused.stderr
    assert "write ops/NAME.cpp" in refused.stderr


SCHEMAS = {
    'layout = "any"': "must have layout",
    'replaces = "relu"': "cannot have replaces",
    "id = 40000": "must have the id that follows from its name",
}


@pytest.mark.parametrize("line", SCHEMAS)
def test_a_run_time_schema_has_only_what_a_library_supports(tmp_path: Path, line: str) -> None:
    (tmp_path / "ops").mkdir()
    text = (EXAMPLE / "ops" / "soft_threshold.toml").read_text()
    key = line.partition(" ")[0]
    arguments = [row for row in text.splitlines() if row.partition(" ")[0] != key]
    path = tmp_path / "ops" / "soft_threshold.toml"
    path.write_text("\n".join([line, *arguments]))
    with pytest.raises(errors.SchemaError, match=SCHEMAS[line]):
        schema.read_plugin_operator(path)
    path.write_text(text)
    path.with_suffix(".cpp").write_text("")
    with pytest.raises(errors.SchemaError, match="remove run_time = true"):
        schema.read_plugin_operator(path)


def test_a_python_function_is_an_operator(tmp_path: Path) -> None:
    script = tmp_path / "bring_up.py"
    script.write_text(FUNCTION)
    done = python(f"exec(compile(open({str(script)!r}).read(), 'bring_up.py', 'exec'))", ABI,
                  cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    for text in (
        "bring_up.py:10: operator weave: ValueError: too bright",
        "returns 1 instead of 2 results",
        "at run time: bring_up.py:5",
        "there is an operator weave of bring_up.py:5",
        "operator relu is compiled in",
        "a binary cannot run operators that are Python functions: weave (bring_up.py:5)",
    ):
        assert text in done.stdout, done.stdout
