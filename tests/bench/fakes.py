"""A runner that is a script, with the subject, golden output and records to measure it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.python_script import FIRST_LINES
from trimtab.bench.golden import Golden
from trimtab.bench.jobs import Subject
from trimtab.results.records import FileFacts, Header, RecordedDevice, Status, Writer

# Doubles its inputs; prints the lines of docs/runner.md. What goes wrong is put in place of `pass`.
RUNNER = f"""{FIRST_LINES}import json, os, signal, struct, sys, time
args = sys.argv[1:]
def option(name, default=None):
    return args[args.index(name) + 1] if name in args else default
def say(event, **fields):
    print(json.dumps({{"event": event, **fields}}), flush=True)
is_golden = "--output-dir" in args
if cores := option("--cores"):
    spans = (span.partition("-") for span in cores.split(","))
    os.sched_setaffinity(0, {{c for a, _, b in spans for c in range(int(a), int(b or a) + 1)}})
allowed = [line.split()[1] for line in open("/proc/self/status") if "Cpus_allowed_list" in line]
say("start", version="9.9.9", schema="00ff", threads=int(option("--threads")), affinity=allowed[0],
    cpu_features=[])
say("load", ns=1000, instructions=None)
say("memory", arena_bytes=4096, arena_lower_bound_bytes=4000, weights_bytes=64, prepared_bytes=32)
say("first", i=0, ns=900, instructions=None)
scale = 2.0
told = {{}}
if True:
    pass
for i in range(int(option("--warmup"))):
    say("warmup", i=i, ns=850, instructions=None)
for i in range(int(option("--runs"))):
    paced = {{"frame": 2 * i, "wait_ns": 7}} if "--period-us" in args else {{}}
    say("run", i=i, ns=800 + i % 3, instructions=None, **paced)
runs = int(option("--runs"))
say("cpu", ns=1600, runs=runs, wall_ns=3200 * runs)
if "--per-op" in args:
    for run in range(int(option("--runs"))):
        for i in range(2):
            say("op", run=run, index=i, id=i + 1, name="", ns=400 + 2 * run, instructions=None)
if is_golden:
    data = open(option("--input"), "rb").read()
    values = struct.unpack(f"<{{len(data) // 4}}f", data)
    with open(option("--output-dir") + "/out0.bin", "wb") as out:
        out.write(struct.pack(f"<{{len(values)}}f", *(scale * v for v in values)))
for i, dims in told.items():
    say("output", i=i, dims=dims)
say("peak", vm_hwm_bytes=123456)
say("end", status="OK")
"""


def write_runner(directory: Path, fault: str = "pass") -> Path:
    """The fake runner, with a statement that makes it fail."""
    path = directory / "trimtab-run"
    path.write_text(RUNNER.replace("    pass\n", f"    {fault}\n"))
    path.chmod(0o755)
    return path


def make_subject(directory: Path, fault: str = "pass", profile: str = "tiny") -> Subject:
    """A subject for `measure`: the fake runner, a model file, and a size with its groups."""
    model = directory / "net.ttm"
    model.write_bytes(b"model")
    groups = {"op:conv": 500, "op:relu": 20, "kernel:gemm_f32_4x8_neon": 300, "core": 100}
    return Subject(
        binary=write_runner(directory, fault),
        model=model,
        is_model_embedded=False,
        profile=profile,
        toolchain="host",
        cpu="native",
        compiler="zig 0.17.0",
        flags=["-Os"],
        operators=["conv conv1", "relu relu1"],
        size={"file_bytes": 1000, "sections": {".text": 900, ".data": 100}, "groups": groups},
    )


def make_golden() -> Golden:
    """A network that doubles a float32[1, 8], as computed by numpy."""
    x = np.arange(8, dtype=np.float32).reshape(1, 8)
    return Golden(inputs=[x], outputs=[2 * x], output_names=["y"], oracle="numpy")


def make_header(
    *, profile: str = "tiny", is_emulated: bool = False, binary_bytes: int = 1000
) -> Header:
    """The header of a record that was never measured."""
    return Header(
        model=FileFacts("net.ttm", 5, "ab" * 32),
        binary=FileFacts("trimtab-run", binary_bytes, "cd" * 32),
        is_model_embedded=False,
        profile=profile,
        toolchain="aarch64-linux-musl",
        cpu="cortex-a53",
        compiler="zig 0.17.0",
        flags=["-Os"],
        device=RecordedDevice("qemu-a53" if is_emulated else "pi4", cpu="cortex-a53"),
        is_emulated=is_emulated,
        protocol={"threads": 1, "runs": 30},
    )


def write_record(
    directory: Path,
    *,
    samples: Sequence[int] = (100_000, 101_000, 99_000),
    launches: int = 1,
    instructions: int | None = None,
    groups: Mapping[str, int] | None = None,
    status: Status = Status.OK,
    shares: Sequence[Sequence[Sequence[int] | None]] | None = None,
    **header: Any,
) -> Path:
    """A complete record with these steady-state samples in each launch.
    `shares`: when each thread had one of each operator.
    """
    counted = {"instructions": instructions}
    with Writer(directory, make_header(**header)) as writer:
        if groups is not None:
            total = sum(groups.values())
            sections = {".text": total - 10, ".rodata": 10}
            size = {"file_bytes": total, "sections": sections, "groups": dict(groups)}
            writer.event({"event": "size", **size})
        for launch in range(launches):
            writer.event({"event": "launch", "index": launch, "at_s": 0.1 * launch})
            writer.event({"event": "load", "ns": 5000, **counted})
            memory = {
                "arena_bytes": 4096,
                "arena_lower_bound_bytes": 4000,
                "weights_bytes": 64,
                "prepared_bytes": 32,
            }
            writer.event({"event": "memory", **memory})
            writer.event({"event": "first", "ns": 120_000, **counted})
            for i, ns in enumerate(samples):
                writer.event({"event": "run", "i": i, "ns": ns, **counted})
            for i, name in enumerate(("conv <1>", "relu|1")):
                op = {"event": "op", "run": 0, "index": i, "id": i, "name": name, "ns": 401}
                allowed = {"shares": shares[i]} if shares else {}
                writer.event({**op, "instructions": 7 if instructions else None, **allowed})
            writer.event({"event": "peak", "vm_hwm_bytes": 999_424})
        writer.end(status, "" if status is Status.OK else "the board went up in smoke")
    return writer.path
