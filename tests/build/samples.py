"""A network of one operator, and the machines that run its binaries."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

import trimtab
from tests.devices.conftest import require
from trimtab.build.builder import Build, BuildRequest, build
from trimtab.build.toolchain import find_toolchain
from trimtab.profile import Profile
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.target import Target

SHAPE = (1, 3, 5, 7)
CROSS = (
    "aarch64-linux-musl",
    "armv7-linux-musleabihf",
    "riscv64-linux-musl",
    "x86_64-linux-musl",
    "aarch64-linux-gnu",
    "arm-linux-gnueabihf",
)


def need(toolchain: str) -> None:
    """Skips the test (or fails it under CI) when the machine lacks the compiler or emulator."""
    chosen = find_toolchain(toolchain)
    if chosen.compiler == "gcc":
        require(f"{chosen.target}-g++", chosen.needs)
    if chosen.emulator and chosen.arch != "x86_64":
        require(chosen.emulator.program, chosen.emulator.package)


def relu(folder: Path, arch: str) -> tuple[Program, Path]:
    """y = max(x, 0) on float32[1, 3, 5, 7], planned for any machine of `arch`: program, .ttm."""
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, SHAPE) for n in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu", [x], [y])
    path = folder / "relu.onnx"
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    program = trimtab.optimize(trimtab.load(path), Target.of(arch))
    program.save(folder / "relu.ttm")
    return program, folder / "relu.ttm"


def tiny(folder: Path, toolchain: str, progress: Progress = SILENT, **options: object) -> Build:
    """A build with exactly the operators and kernels of the network."""
    program, model = relu(folder, find_toolchain(toolchain).arch)
    profile: Profile = trimtab.profile_of(program)
    request = {"output_dir": folder / "out", "toolchain": toolchain, "model": model, **options}
    return build(BuildRequest(profile=profile, **request), progress)  # type: ignore[arg-type]


def runs_relu(delivery: Build, folder: Path) -> bool:
    """True when the runner computes what numpy does, on this machine or under its emulator."""
    x = np.random.default_rng(7).standard_normal(SHAPE, dtype=np.float32)
    (folder / "x.bin").write_bytes(x.tobytes())
    command = [str(delivery.runner), *([str(delivery.model)] if delivery.model else [])]
    emulator = find_toolchain(delivery.record["toolchain"]).emulator
    if emulator and delivery.record["arch"] != "x86_64":
        sysroot = ["-L", emulator.sysroot] if emulator.sysroot else []
        command = [emulator.program, "-cpu", emulator.cpu, *sysroot, *command]
    command += ["--input", str(folder / "x.bin"), "--output-dir", str(folder), "--runs", "1"]
    subprocess.run([*command, "--min-time-ms", "0"], check=True, capture_output=True, timeout=300)
    y = np.frombuffer((folder / "out0.bin").read_bytes(), np.float32).reshape(SHAPE)
    return np.array_equal(y, np.maximum(x, 0))
