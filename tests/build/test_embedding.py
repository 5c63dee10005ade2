"""docs/embedding.md, command by command: the programs compute what onnxruntime does."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import trimtab
from tests.devices.conftest import require
from trimtab import paths
from trimtab.pipeline.built import build
from trimtab.pipeline.loaded import load
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import Recipe

PAGE = paths.root() / "docs" / "embedding.md"
SHAPE = (1, 3, 8, 8)


def network(path: Path, activation: str, size: int = 8, output: str = "features") -> Path:
    """data -> convolution -> activation -> features; squares of this size."""
    weights = np.random.default_rng(5).normal(size=(4, 3, 3, 3)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["data", "weights"], ["sums"], pads=[1] * 4),
            helper.make_node(activation, ["sums"], [output]),
        ],
        path.stem,
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, (1, 3, size, size))],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, (1, 4, size, size))],
        [numpy_helper.from_array(weights, "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)
    return path


def computed(path: Path, image: NDArray[np.float32]) -> NDArray[np.float32]:
    features = onnxruntime.InferenceSession(path).run(None, {"data": image})[0]
    return np.asarray(features, np.float32).reshape(-1)


def built(model: Path, prefix: Path) -> Path:
    """The prefix of a build for this machine."""
    return build(plan(load(Recipe(str(model), output=prefix)))).delivered.output_dir


def workplace(folder: Path) -> None:
    """The reader's folder: two models, the programs of the page, and trimtab's two commands."""
    network(folder / "net.onnx", "Relu")
    network(folder / "other.onnx", "Sigmoid")
    for text in re.findall(r"```\w+\n(.*?)```", PAGE.read_text(), re.S):
        if name := re.match(r"(?:/\* |// |# )(app\.c|app\.cpp|CMakeLists\.txt)\b", text):
            (folder / name[1]).write_text(text)
    (folder / ".venv" / "bin").mkdir(parents=True)
    for place, words in (("inv", "-m trimtab.cli"), (".venv/bin/python", "")):
        script = folder / place
        root, python = shlex.quote(str(paths.root())), shlex.quote(sys.executable)
        script.write_text(f'#!/bin/sh\nPYTHONPATH={root} exec {python} {words} "$@"\n')
        script.chmod(0o755)


def commands() -> list[str]:
    prose = re.sub(r"```.*?```", "", PAGE.read_text(), flags=re.S)
    return re.findall(r"^    (\S.*)$", prose, re.M)


@pytest.mark.build
def test_the_commands_of_the_page_build_programs_that_compute_what_onnxruntime_does(
    tmp_path: Path,
) -> None:
    for tool in ("cc", "c++", "make", "cmake", "pkg-config"):
        require(tool, tool)
    workplace(tmp_path)
    printed = {}
    for command in commands():
        environment = {**os.environ, "TRIMTAB_CACHE_DIR": str(paths.cache())}
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        printed[command.split()[0]] = done.stdout
    image = np.linspace(0, 1, 192, endpoint=False, dtype=np.float32).reshape(SHAPE)
    expected = computed(tmp_path / "net.onnx", image)
    for program in ("./app", "tree/app"):
        values = [float(line) for line in printed[program].splitlines()]
        np.testing.assert_allclose(values, expected[:4], atol=1e-4)
    assert printed["./app-cpp"] == "features has 1024 bytes\n"
    name, text = printed["dist/net/example/example"].split(":")
    assert name == "features"
    zeros = computed(tmp_path / "net.onnx", np.zeros(SHAPE, np.float32))
    values = [float(word) for word in text.split()]
    np.testing.assert_allclose(values, zeros[:8], atol=1e-4)
    assert (tmp_path / "other.ttm").exists()
    wrong = ["cmake", "-S", ".", "-B", "wrong", f"-DCMAKE_PREFIX_PATH={tmp_path / 'dist/net-a53'}"]
    refused = subprocess.run(wrong, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert f"{trimtab.__version__} (for aarch64, not {platform.machine()})" in refused.stderr
    static_runner = symbols(tmp_path / "dist/net-a53/debug/trimtab-run.full")
    assert "trimtab_open_file" in static_runner
    assert not static_runner & {"strerror", *(f"trimtab_{name}" for name in UNUSED)}
    if shutil.which("qemu-aarch64"):
        words = ["qemu-aarch64", "-cpu", "cortex-a53", "tree-a53/app", "dist/net-a53/net.ttm"]
        there = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
        values = [float(line) for line in there.stdout.splitlines()]
        np.testing.assert_allclose(values, expected[:4], atol=1e-4)


def compiled(source: str, prefix: Path, folder: Path) -> Path:
    """A program linked with the static library of a build."""
    require("cc", "gcc")
    (folder / "program.c").write_text(source)
    words = ["cc", "-std=c99", "-Wall", "-Werror", "-pedantic", f"-I{prefix}", "program.c"]
    words += [str(prefix / "libtrimtab.a"), "-o", "program", "-lm", "-pthread"]
    subprocess.run(words, cwd=folder, check=True)
    return folder / "program"


UNUSED = ("status_text", "version", "input_index", "output_index")


def symbols(binary: Path) -> set[str]:
    """The functions that an ELF file defines."""
    require("readelf", "binutils")
    done = subprocess.run(["readelf", "-sW", binary], capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    return {row[7] for row in rows if len(row) == 8 and row[3] == "FUNC" and row[6] != "UND"}


QUERIES = r"""
#include <stdio.h>
#include <string.h>
#include "trimtab.h"
int main(int argc, char** argv) {
  trimtab_model* model;
  char why[512];
  printf("%d %d.%d.%d %s\n", strcmp(TRIMTAB_VERSION, trimtab_version()), TRIMTAB_VERSION_MAJOR,
         TRIMTAB_VERSION_MINOR, TRIMTAB_VERSION_PATCH, TRIMTAB_VERSION);
  for (int status = -1; status <= 12; ++status) printf("%s\n", trimtab_status_text(status));
  for (int i = 2; i < argc; ++i)
    printf("%d %s\n", trimtab_open_file(argv[i], NULL, &model, why, sizeof why), why);
  if (trimtab_open_file(argv[1], NULL, &model, NULL, 0) != 0) return 1;
  printf("%d %d %d %d\n", (int)trimtab_input_index(model, "data"),
         (int)trimtab_output_index(model, "features"), (int)trimtab_input_index(model, "features"),
         (int)trimtab_input_index(model, ""));
  float image[192] = {0};
  uint32_t none = trimtab_input_index(model, "dat");
  printf("%d %d\n", none == TRIMTAB_NO_INDEX, trimtab_set_input(model, none, image, sizeof image));
  trimtab_close(model);
  return 0;
}
"""


@pytest.mark.build
@pytest.mark.parametrize(
    ("size", "output", "why"),
    [(9, "features", "input has the wrong size (bytes expected, given) (972, 768)"), (8, "y", "")],
)
def test_the_program_of_the_page_ends_with_an_error_for_another_network(
    tmp_path: Path, size: int, output: str, why: str
) -> None:
    workplace(tmp_path)
    prefix = built(network(tmp_path / "else.onnx", "Relu", size, output), tmp_path / "dist")
    program = compiled((tmp_path / "app.c").read_text(), prefix, tmp_path)
    words = [program, prefix / "else.ttm"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (1, "", why)


@pytest.mark.build
def test_the_library_tells_its_version_texts_of_codes_and_tensors_by_name(tmp_path: Path) -> None:
    model = network(tmp_path / "net.onnx", "Relu")
    prefix = built(model, tmp_path / "dist")
    program = compiled(QUERIES, prefix, tmp_path)
    (tmp_path / "empty.ttm").touch()
    paths_of_no_model = ["missing.ttm", "empty.ttm", ".", "program.c"]
    done = subprocess.run(
        [program, prefix / "net.ttm", *paths_of_no_model],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    version, *lines = done.stdout.splitlines()
    assert version == f"0 {trimtab.__version__} {trimtab.__version__}"
    texts = lines[:14]
    assert texts[0] == texts[-1] == "unknown status"
    assert "" not in texts
    assert len({*texts}) == len(texts) - 1, "each code has its own text"
    assert lines[14:18] == [
        f"8 cannot open missing.ttm: {os.strerror(2)}",
        "8 empty file: empty.ttm",
        f"8 cannot read .: {os.strerror(21)}",
        lines[17],
    ]
    assert lines[17].startswith("1 ")
    assert lines[18:] == ["0 0 -1 -1", "1 7"]


@pytest.mark.build
def test_programs_contain_only_the_functions_of_the_library_that_they_use(tmp_path: Path) -> None:
    prefix = built(network(tmp_path / "net.onnx", "Relu"), tmp_path / "dist")
    program = compiled('#include "trimtab.h"\nint main(void) { return 0; }', prefix, tmp_path)
    for binary in (program, prefix / "debug" / "trimtab-run.full"):
        assert not symbols(binary) & {f"trimtab_{name}" for name in UNUSED}
