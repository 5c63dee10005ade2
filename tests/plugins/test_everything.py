"""A plug-in with files in every sub-folder: each is found and used like trimtab's own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugins.test_examples import inv
from tests.plugins.test_plugins import parts, run
from trimtab import paths
from trimtab.build.toolchain import find_toolchain

EVERYTHING = paths.root() / "tests" / "plugins" / "everything"
BEGIN = "import json, sys, trimtab\ntrimtab.plugins.add(sys.argv[1])\n"


def python(program: str, *words: str, cwd: Path) -> str:
    """The output of a script that uses the plug-in, in another process: discovery happens once."""
    argv = [sys.executable, "-P", "-c", BEGIN + program, str(EVERYTHING), *words]
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_part_is_listed(tmp_path: Path) -> None:
    assert {
        ("everything", "ops", "neg"),
        ("everything", "ops", "swell"),
        ("everything", "kernels", "swell_f32_portable"),
        ("everything", "kernels", "bounded_neg_f32_neon"),
        ("everything", "passes", "drop_swell"),
        ("everything", "profiles", "everything"),
        ("everything", "reports", "one_line"),
        ("everything", "devices", "workbench"),
        ("everything", "toolchains", "workbench"),
        ("everything", "cores", "workbench-core"),
        ("everything", "tests/cases", "swell"),
    } <= parts(run(tmp_path, EVERYTHING))


_FOUND = """
from pathlib import Path
from trimtab import passes, profile, reports, schema
from trimtab.build import codegen, toolchain
from trimtab.devices import find_device
own = profile.find_profile("everything")
codegen.generate(own, "aarch64", "zig", Path(sys.argv[2]))
device = find_device("workbench")
tools = toolchain.find_toolchain(device.toolchain)
names = list(passes.passes())
print(json.dumps({
    "ops": [op.name for op in own.operators()],
    "neg": [schema.operator("neg").id, str(schema.operator("neg").path)],
    "pass": names[names.index("drop_swell") - 1 :][:3],
    "core": [device.cpu, tools.core(device.cpu).pipes.issue_width],
    "flags": tools.flags.compile,
    "report": "one-line" in reports.names(),
}))
"""


def test_every_part_is_found_by_its_name(tmp_path: Path) -> None:
    result = json.loads(python(_FOUND, str(tmp_path), cwd=tmp_path))
    assert set(result["ops"]) == {"swell", "neg", "relu", "reshape", "convert_layout"}
    assert result["neg"] == [29, str(EVERYTHING / "ops" / "neg.toml")]
    assert result["pass"] == ["remove_no_ops", "drop_swell", "fuse_split_concat"]
    assert result["core"] == ["workbench-core", 2]
    assert result["flags"] == ["-fno-vectorize"]
    assert result["report"]
    remaining = json.loads((tmp_path / "contents.json").read_text())["kernels"]
    assert {"swell_f32_portable", "bounded_neg_f32_neon"} <= set(remaining)
    assert "neg_f32_neon" not in remaining


_COMPUTED = """
import numpy as np
from trimtab.program import Program
from trimtab import passes, plugins
from trimtab.plugin_kit import cases as plugin_test
wrong = [o for o in plugin_test.run(plugins.active()[0], devices=()) if o.error]
print(wrong or "right")
program = Program("net")
x = program.add_input("x", (1, 3, 5, 7), "f32")
for name, attributes in (("neg", {}), ("swell", {}), ("swell", {"gain": 0.5})):
    (x,) = program.block.add_op(name, [x], attributes, 1, name)
program.outputs = [x]
print(*(op.type for op in passes.optimize(program).ops))
program.save("net.ttm")
given = np.linspace(-3, 3, 105, dtype=np.float32).reshape(1, 3, 5, 7)
(got,) = trimtab.Session(trimtab.optimize(trimtab.load("net.ttm"))).run({"x": given}).values()
negated = np.maximum(-given, -1)
np.testing.assert_allclose(got, negated * (1 + 0.5 * np.abs(negated)), rtol=1e-6)
"""


@pytest.mark.build
def test_its_operators_kernels_and_pass_work_in_the_python_engine(tmp_path: Path) -> None:
    built = inv("--plugin", str(EVERYTHING), "engine", cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    assert python(_COMPUTED, cwd=tmp_path).splitlines() == ["right", "neg swell"]


@pytest.mark.slow
@pytest.mark.build
def test_a_binary_of_its_profile_is_measured_on_its_device(tmp_path: Path) -> None:
    if find_toolchain("host").arch not in ("x86_64", "aarch64"):
        pytest.skip("the plug-in's core is none of this machine's architecture")
    plugin = ("--plugin", str(EVERYTHING))
    assert inv(*plugin, "engine", cwd=tmp_path).returncode == 0
    python(_COMPUTED, cwd=tmp_path)
    bench = ("bench", "--model", "net.ttm", "--profile", "everything", "--device", "workbench")
    short = ("--launches", "1", "--runs", "1", "--min-time-ms", "0", "--warmup", "0")
    report = ("--results", "results", "--format", "one-line", "--output", "report.txt")
    done = inv(*plugin, *bench, *short, "--per-op", *report, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "report.txt").read_text().startswith("one line: OK, ")
    assert "swell" in done.stdout
