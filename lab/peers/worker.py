"""One inference engine in a process of its own: a script that the interpreter of its packages runs.

    python worker.py probe                 versions of the engines that are installed, as JSON
    python worker.py prepare JOB           convert the job's model for its engine
    python worker.py serve JOB             load it, then time it on demand

JOB is JSON: {"engine", "model" (an ONNX file), "folder" (for converted files), "threads", "inputs"
(an .npz of one array per input, in the model's order), "names" (of the outputs), "prefer" (of
trimtab's plan, or ""), "origin" (of a quantized model: the one of real numbers, and an .npz of the
pictures that its ranges are of; or null)}. `serve` writes a
line of JSON when it has loaded the model, and another for every line it reads: a number of
inferences. It imports no trimtab, which the interpreter may not have, other than as an engine.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Run = Callable[[], Sequence[Array]]


@dataclass(frozen=True)
class Job:
    """What an engine is to run. `inputs`: by name, in the model's order."""

    model: Path
    folder: Path
    threads: int
    inputs: dict[str, Array]
    names: list[str]
    prefer: str
    origin: tuple[Path, Path] | None = None

    def converted(self, suffix: str) -> Path:
        """Where the model is kept in the engine's own format."""
        return self.folder / (self.model.stem + suffix)


@dataclass(frozen=True)
class Engine:
    """How an engine is used. `packages`: what pip calls them, the one with its version first.

    `modules` are imported before the clock starts; `create` gets them. `shipped`: the files of the
    model that a user of the engine would ship. `quantized`: it computes with integers, those of QDQ
    files, or of its own.
    """

    packages: tuple[str, ...]
    modules: tuple[str, ...]
    create: Callable[..., Run]
    convert: Callable[[Job], None] = lambda job: None
    shipped: Callable[[Job], Sequence[Path]] = lambda job: [job.model]
    quantized: bool = False


def onnxruntime(job: Job, ort: Any) -> Run:
    """ONNX as it is; spinning threads, as is its default."""
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = job.threads, 1
    session = ort.InferenceSession(str(job.model), options, providers=["CPUExecutionProvider"])
    return lambda: list(session.run(None, job.inputs))


def openvino(job: Job, ov: Any) -> Run:
    """ONNX as it is; float32 throughout, but for what is quantized."""
    hints = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    config = {"INFERENCE_NUM_THREADS": job.threads, **hints}
    compiled = ov.Core().compile_model(str(job.model), "CPU", config)
    request = compiled.create_infer_request()
    for index, array in enumerate(job.inputs.values()):
        request.set_input_tensor(index, ov.Tensor(array, shared_memory=True))

    def run() -> list[Array]:
        request.infer()
        return [request.get_output_tensor(i).data for i in range(len(job.names))]

    return run


def ncnn_convert(job: Job) -> None:
    """By pnnx, with float32 weights; and with its default of float16 for `ncnn_shipped`. It reads
    no QDQ files: an int8 model is made of the network of real numbers and the same pictures.
    """
    shapes = ",".join(str(list(array.shape)).replace(" ", "") for array in job.inputs.values())
    ways = [(job.folder, ["fp16=0"]), (job.folder / "default", [])]
    model = job.model
    if job.origin:
        model, ways = job.origin[0], [(job.folder / "real", ["fp16=0"])]
    for folder, options in ways:
        if not (folder / job.converted(".ncnn.bin").name).exists():
            folder.mkdir(exist_ok=True)
            copy = shutil.copy(model, folder)  # it writes beside the file that it reads
            _tool("pnnx", str(copy), f"inputshape={shapes}", *options)
    if job.origin:
        real = job.folder / "real" / job.converted(".ncnn").name
        writer = importlib.import_module("ncnn_int8")  # beside this script
        writer.main(real, job.converted(".ncnn"), job.origin[1])


def ncnn_shipped(job: Job) -> list[Path]:
    """As its converter makes them unless told otherwise: with float16 weights, or int8 ones."""
    folder = job.folder if job.origin else job.folder / "default"
    return [folder / job.converted(suffix).name for suffix in (".ncnn.param", ".ncnn.bin")]


def ncnn(job: Job, ncnn: Any) -> Run:
    """Its own format; images without their batch of 1."""
    net = ncnn.Net()
    net.opt.num_threads = job.threads
    net.opt.use_vulkan_compute = False
    net.load_param(str(job.converted(".ncnn.param")))
    net.load_model(str(job.converted(".ncnn.bin")))
    inputs = [ncnn.Mat(array[0]).clone() for array in job.inputs.values()]
    outputs = net.output_names()

    def run() -> list[Array]:
        extractor = net.create_extractor()
        for index, array in enumerate(inputs):
            extractor.input(f"in{index}", array)
        return [np.asarray(extractor.extract(name)[1]) for name in outputs]

    return run


def mnn_convert(job: Job) -> None:
    """By its converter."""
    target = str(job.converted(".mnn"))
    if not Path(target).exists():
        files = ["--modelFile", str(job.model), "--MNNModel", target]
        _tool("mnnconvert", "-f", "ONNX", *files, "--bizCode", "trimtab")


def mnn(job: Job, nn: Any, expr: Any) -> Run:
    """Its own format; float32 throughout."""
    config = {"backend": "CPU", "precision": "high", "numThread": job.threads}
    runtime = nn.create_runtime_manager((config,))
    names = list(job.inputs)
    net = nn.load_module_from_file(
        str(job.converted(".mnn")), names, job.names, runtime_manager=runtime
    )
    inputs = []
    for array in job.inputs.values():
        plain = expr.placeholder(list(array.shape), expr.NCHW)
        plain.write(array)
        inputs.append(expr.convert(plain, expr.NC4HW4) if array.ndim == 4 else plain)
    return lambda: [output.read() for output in net.forward(inputs)]


def litert_convert(job: Job) -> None:
    """By a writer of our own, as its converters read no ONNX; made anew each time, as that may have
    changed. RuntimeError where XNNPACK takes no part of it: other kernels would be no match.
    """
    beside = ("litert_network", "litert_file", "litert_writer")
    network, file, writer = (importlib.import_module(name) for name in beside)
    content = writer.Writer(network.Network(job.model), file.File()).content()
    np.frombuffer(content, np.uint8).tofile(job.converted(".tflite"))
    runtime = importlib.import_module("ai_edge_litert.interpreter")
    interpreter = runtime.Interpreter(str(job.converted(".tflite")))
    interpreter.allocate_tensors()
    if all(step["op_name"] != "DELEGATE" for step in interpreter._get_ops_details()):
        raise RuntimeError("XNNPACK takes no part of the network")


def litert(job: Job, runtime: Any) -> Run:
    """Its own format, by XNNPACK, as is its default; images as it has them, channels last."""
    interpreter = runtime.Interpreter(str(job.converted(".tflite")), num_threads=job.threads)
    interpreter.allocate_tensors()
    for given, array in zip(interpreter.get_input_details(), job.inputs.values(), strict=True):
        stored = np.moveaxis(array, 1, -1) if array.ndim == 4 else array
        interpreter.set_tensor(given["index"], np.ascontiguousarray(stored))
    outputs = [output["index"] for output in interpreter.get_output_details()]

    def run() -> list[Array]:
        interpreter.invoke()
        found = [interpreter.get_tensor(index) for index in outputs]
        return [np.moveaxis(array, -1, 1) if array.ndim == 4 else array for array in found]

    return run


def trimtab_convert(job: Job) -> None:
    """Planned for this machine and packed; made anew each time, as the planner may have changed."""
    trimtab = importlib.import_module("trimtab")
    program = trimtab.load(job.model)
    target = trimtab.Target.host(threads=job.threads)
    plan = trimtab.Plan(prefer=job.prefer) if job.prefer else None
    trimtab.optimize(program, target, plan).save(job.converted(".ttm"))


def trimtab(job: Job, trimtab: Any, *_: Any) -> Run:
    """A model file that was planned ahead of time."""
    session = trimtab.Session(trimtab.load(job.converted(".ttm")), threads=job.threads)
    return lambda: list(session.run(job.inputs).values())


ENGINES = {
    "onnxruntime": Engine(("onnxruntime",), ("onnxruntime",), onnxruntime, quantized=True),
    "openvino": Engine(("openvino",), ("openvino",), openvino, quantized=True),
    "ncnn": Engine(("ncnn", "pnnx"), ("ncnn",), ncnn, ncnn_convert, ncnn_shipped, quantized=True),
    "mnn": Engine(
        ("MNN",), ("MNN.nn", "MNN.expr"), mnn, mnn_convert, lambda job: [job.converted(".mnn")]
    ),
    "litert": Engine(
        ("ai-edge-litert", "onnx"),
        ("ai_edge_litert.interpreter",),
        litert,
        litert_convert,
        lambda job: [job.converted(".tflite")],
        quantized=True,
    ),
    "trimtab": Engine(
        ("trimtab",),
        ("trimtab", "trimtab.session", "trimtab.importers.ttm", "trimtab._engine"),
        trimtab,
        trimtab_convert,
        lambda job: [job.converted(".ttm")],
        quantized=True,
    ),
}


def _tool(name: str, *arguments: str) -> None:
    """Runs a program that came with a package of this interpreter."""
    beside = Path(sys.executable).with_name(name)
    command = [str(beside) if beside.exists() else name, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} failed: {(done.stdout + done.stderr)[-300:]}")


def _versions() -> dict[str, str]:
    """The version of every engine whose packages are all installed."""
    found = {}
    for name, engine in ENGINES.items():
        try:
            found[name], *_ = [metadata.version(package) for package in engine.packages]
        except metadata.PackageNotFoundError:
            continue
    return found


def resident_bytes(field: str) -> int:
    """VmRSS (now) or VmHWM (at most so far) of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


def _timed(run: Run) -> tuple[int, Sequence[Array]]:
    start = time.perf_counter_ns()
    outputs = run()
    return time.perf_counter_ns() - start, outputs


def serve(engine: Engine, job: Job, commands: TextIO, answers: TextIO, outputs: Path) -> None:
    """Loads the model and answers `commands`; see the top of this file."""

    def answer(**fields: Any) -> None:
        print(json.dumps(fields), file=answers, flush=True)

    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: job.threads])
    before = resident_bytes("VmRSS")
    modules = [importlib.import_module(name) for name in engine.modules]
    start = time.perf_counter_ns()
    run = engine.create(job, *modules)
    create_ns = time.perf_counter_ns() - start
    first_ns, results = _timed(run)
    np.savez(outputs, *[np.asarray(result) for result in results])
    run()  # what an engine does once more when it knows its shapes counts, too
    peak = resident_bytes("VmHWM") - before
    shipped = sum(file.stat().st_size for file in engine.shipped(job))
    answer(create_ns=create_ns, first_ns=first_ns, peak_bytes=peak, shipped_bytes=shipped)
    for line in commands:
        answer(ns=[_timed(run)[0] for _ in range(int(line))])


def main(mode: str, text: str = "") -> None:
    """Runs one of the modes at the top of this file."""
    if mode == "probe":
        print(json.dumps(_versions()))
        return
    given = json.loads(text)
    engine = ENGINES[given["engine"]]
    with np.load(given["inputs"]) as archive:
        inputs = {name: archive[name] for name in archive.files}
    model, folder = Path(given["model"]), Path(given["folder"])
    names, origin = list(given["names"]), [Path(path) for path in given["origin"] or ()]
    job = Job(
        *(model, folder, int(given["threads"]), inputs, names, given["prefer"]),
        (origin[0], origin[1]) if origin else None,
    )
    if mode == "prepare":
        engine.convert(job)
        return
    # Engines print to stdout as they like: what we say goes past them.
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        serve(engine, job, sys.stdin, answers, folder / "outputs.npz")


if __name__ == "__main__":
    main(*sys.argv[1:])
