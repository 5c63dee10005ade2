"""Runs one inference engine in a process of its own; a script for the peers' interpreter.

    python worker.py probe                 versions of the installed engines, as JSON
    python worker.py prepare JOB           convert the job's model for its engine
    python worker.py serve JOB             load the model, then time inferences on demand
    python worker.py once JOB COUNT        the same for COUNT inferences, marked for emulators
    python worker.py jobs                  load a job of each line, or time COUNT inferences as one

JOB is JSON: {"engine", "model" (an ONNX or TFLite file; LiteRT and ExecuTorch read the .tflite and
.pte file beside an ONNX file), "folder" (for converted files), "threads", "inputs" (an .npz, in
order), "names" (of outputs), "prefer" (of trimtab's plan, or ""), "cores" (default: the first),
"is_half" (ncnn and MNN may compute in f16)}.
`serve` writes a line of JSON when the model is loaded, and one for each line with a number of
inferences: times, CPU time, cores busy in the pause behind them, share of time without a core.
"""

from __future__ import annotations

import ctypes
import importlib
import io
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

if __name__ == "__main__":  # numpy's threads, which no engine uses, spin for a while at first
    os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Run = Callable[[], Sequence[Array]]
Mark = Callable[[int], object]
_RUN_BEGIN, _RUN_END = 3, 4
_PAUSE_S = 0.05  # until the next frame; threads that spin do so for as long or longer


@dataclass(frozen=True)
class PeerJob:
    """A model to run. `inputs`: by name, in the model's order."""

    model: Path
    folder: Path
    threads: int
    inputs: dict[str, Array]
    names: list[str]
    prefer: str
    cores: Sequence[int] = ()
    is_half: bool = False

    def converted(self, suffix: str) -> Path:
        """The model's file in the engine's own format."""
        return self.folder / (self.model.stem + suffix)

    def beside(self, suffix: str) -> Path:
        """The network in another format, in the model's folder; RuntimeError without it."""
        path = self.model.with_suffix(suffix)
        if not path.is_file():
            raise RuntimeError(f"there is no {path.name} beside {self.model.name}")
        return path


@dataclass(frozen=True)
class EngineAdapter:
    """Adapter of an engine.

    `packages`: names on PyPI, the one whose version counts first; `modules`: imported before the
    clock starts, and passed to `create`; `shipped`: the model files that a user would ship;
    `quantized`: reads QDQ files and computes in int8; `reads`: the suffix of its models, which are
    files beside the ONNX model if it is another one.
    """

    packages: tuple[str, ...]
    modules: tuple[str, ...]
    create: Callable[..., Run]
    convert: Callable[[PeerJob], object] = lambda job: None
    shipped: Callable[[PeerJob], Sequence[Path]] = lambda job: []
    quantized: bool = False
    reads: str = ".onnx"


def onnxruntime(job: PeerJob, ort: Any) -> Run:
    """Loads ONNX; threads spin, which is the default."""
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = job.threads, 1
    session = ort.InferenceSession(str(job.model), options, providers=["CPUExecutionProvider"])
    return lambda: list(session.run(None, job.inputs))


def openvino(job: PeerJob, ov: Any) -> Run:
    """Loads ONNX; computes in float32, except quantized operators."""
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


def opencv(job: PeerJob, cv2: Any) -> Run:
    """Loads ONNX into OpenCV's DNN module; computes in float32."""
    cv2.setNumThreads(job.threads)
    net = cv2.dnn.readNetFromONNX(str(job.model))

    def run() -> list[Array]:
        for name, array in job.inputs.items():
            net.setInput(array, name)
        return list(net.forward(job.names))

    return run


def ncnn_convert(job: PeerJob) -> None:
    """Converts with pnnx: float32 weights to run, and its default of float16 for `ncnn_shipped`."""
    shapes = ",".join(str(list(array.shape)).replace(" ", "") for array in job.inputs.values())
    for folder, options in ((job.folder, ["fp16=0"]), (job.folder / "default", [])):
        if not (folder / job.converted(".ncnn.bin").name).exists():
            folder.mkdir(exist_ok=True)
            copy = shutil.copy(job.model, folder)  # pnnx writes beside its input
            _tool("pnnx", str(copy), f"inputshape={shapes}", *options)


def ncnn_shipped(job: PeerJob) -> list[Path]:
    """The converter's default output, with float16 weights."""
    names = [job.converted(suffix).name for suffix in (".ncnn.param", ".ncnn.bin")]
    return [job.folder / "default" / name for name in names]


def ncnn(job: PeerJob, ncnn: Any) -> Run:
    """Loads its own format; inputs have no batch dimension."""
    net = ncnn.Net()
    net.opt.num_threads, net.opt.use_vulkan_compute = job.threads, False
    for option in ("storage", "packed", "arithmetic"):
        setattr(net.opt, f"use_fp16_{option}", job.is_half)
    net.load_param(str(job.converted(".ncnn.param")))
    net.load_model(str(job.converted(".ncnn.bin")))
    inputs = []
    for array in job.inputs.values():
        memory = np.zeros(array.size + 16, array.dtype)  # as in trimtab.exporters.ncnn.mat
        memory[: array.size] = array.ravel()
        inputs.append(ncnn.Mat(memory[: array.size].reshape(array.shape[1:])).clone())
    names, outputs = net.input_names(), net.output_names()

    def run() -> list[Array]:
        extractor = net.create_extractor()
        for index, array in enumerate(inputs):
            extractor.input(names[index], array)
        return [np.asarray(extractor.extract(name)[1]) for name in outputs]

    return run


def mnn_convert(job: PeerJob) -> None:
    """Converts with its own converter, in this process: under an emulator there is no other."""
    if not job.converted(".mnn").exists():
        files = ["--modelFile", str(job.model), "--MNNModel", str(job.converted(".mnn"))]
        options = ["mnnconvert", "-f", "ONNX", *files, "--bizCode", "trimtab"]
        importlib.import_module("_tools").mnnconvert(options)


def mnn(job: PeerJob, nn: Any, expr: Any) -> Run:
    """Loads its own format, into which the network is converted on a device."""
    mnn_convert(job)
    precision = "low" if job.is_half else "high"
    config = {"backend": "CPU", "precision": precision, "numThread": job.threads}
    runtime = nn.create_runtime_manager((config,))
    path, names = str(job.converted(".mnn")), list(job.inputs)
    net = nn.load_module_from_file(path, names, job.names, runtime_manager=runtime)
    inputs = []
    for array in job.inputs.values():
        plain = expr.placeholder(list(array.shape), expr.NCHW)
        plain.write(array)
        inputs.append(expr.convert(plain, expr.NC4HW4) if array.ndim == 4 else plain)
    return lambda: [output.read() for output in net.forward(inputs)]


def litert(job: PeerJob, interpreter: Any) -> Run:
    """Loads TFLite; its default delegate is XNNPACK. Inputs are in the order of the model."""
    network = interpreter.Interpreter(str(job.beside(".tflite")), num_threads=job.threads)
    network.allocate_tensors()
    for detail, array in zip(network.get_input_details(), job.inputs.values(), strict=True):
        is_last = array.shape != tuple(detail["shape"])  # channels, after a conversion from ONNX
        network.set_tensor(detail["index"], np.moveaxis(array, 1, -1) if is_last else array)
    outputs = [detail["index"] for detail in network.get_output_details()]

    def run() -> list[Array]:
        network.invoke()
        return [network.get_tensor(index) for index in outputs]

    return run


def executorch(job: PeerJob, runtime: Any, pool: Any, torch: Any) -> Run:
    """Loads a program of ExecuTorch, which computes with the backend that it was lowered for."""
    pool._unsafe_reset_threadpool(job.threads)
    torch.set_num_threads(job.threads)
    method = runtime.Runtime.get().load_program(str(job.beside(".pte"))).load_method("forward")
    inputs = [torch.from_numpy(array) for array in job.inputs.values()]
    return lambda: [output.numpy() for output in method.execute(inputs)]


def trimtab_convert(job: PeerJob) -> None:
    """Plans for this machine; always converts again, because the planner may have changed."""
    trimtab = importlib.import_module("trimtab")
    program, target = trimtab.load(job.model), trimtab.Target.host(threads=job.threads)
    plan = trimtab.Plan(prefer=job.prefer) if job.prefer else None
    trimtab.optimize(program, target, plan).save(job.converted(".ttm"))


def trimtab(job: PeerJob, trimtab: Any, *_: Any) -> Run:
    """Loads a model file planned ahead of time."""
    session = trimtab.Session(trimtab.load(job.converted(".ttm")), threads=job.threads)
    return lambda: list(session.run(job.inputs).values())


ENGINES = {
    "onnxruntime": EngineAdapter(("onnxruntime",), ("onnxruntime",), onnxruntime, quantized=True),
    "openvino": EngineAdapter(("openvino",), ("openvino",), openvino, quantized=True),
    "opencv": EngineAdapter(("opencv-python-headless",), ("cv2",), opencv),
    "ncnn": EngineAdapter(("ncnn", "pnnx"), ("ncnn",), ncnn, ncnn_convert, ncnn_shipped),
    "mnn": EngineAdapter(
        ("MNN",), ("MNN.nn", "MNN.expr"), mnn, mnn_convert, lambda job: [job.converted(".mnn")]
    ),
    "litert": EngineAdapter(
        ("ai-edge-litert",), ("ai_edge_litert.interpreter",), litert, reads=".tflite"
    ),
    "executorch": EngineAdapter(
        ("executorch", "torch"),
        ("executorch.runtime", "executorch.extension.pybindings.portable_lib", "torch"),
        executorch,
        reads=".pte",
    ),
    "trimtab": EngineAdapter(
        ("trimtab",),
        ("trimtab", "trimtab.session", "trimtab.importers.ttm", "trimtab._engine"),
        trimtab,
        trimtab_convert,
        lambda job: [job.converted(".ttm")],
        quantized=True,
    ),
}


def _tool(name: str, *arguments: str) -> None:
    """Runs a program installed by a package of this interpreter."""
    beside = Path(sys.executable).with_name(name)
    command = [str(beside) if beside.exists() else name, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} failed: {(done.stdout + done.stderr)[-300:]}")


def _versions() -> dict[str, str]:
    """The version of each engine whose packages are all installed."""
    versions = {}
    for name, engine in ENGINES.items():
        try:
            versions[name], *_ = [metadata.version(package) for package in engine.packages]
        except metadata.PackageNotFoundError:
            continue
    return versions


def resident_bytes(field: str) -> int:
    """VmRSS (current) or VmHWM (peak) of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


def _timed(run: Run, mark: Mark) -> tuple[int, Sequence[Array]]:
    mark(_RUN_BEGIN)
    start = time.perf_counter_ns()
    outputs = run()
    end = time.perf_counter_ns()
    mark(_RUN_END)
    return end - start, outputs


def _marker() -> Mark:
    """Marks phases for a plug-in of the emulator, as the runner does (docs/runner.md)."""
    libc = ctypes.CDLL(None)
    return lambda phase: libc.prctl(0x7472696D, phase, 0, 0, 0)


def serve(
    engine: EngineAdapter,
    job: PeerJob,
    commands: TextIO,
    answers: TextIO,
    mark: Mark = lambda phase: None,
) -> None:
    """Loads the model and answers `commands`: the mode `serve`."""

    def answer(**fields: Any) -> None:
        print(json.dumps(fields), file=answers, flush=True)

    os.sched_setaffinity(0, job.cores or sorted(os.sched_getaffinity(0))[: job.threads])
    before = resident_bytes("VmRSS")
    modules = [importlib.import_module(name) for name in engine.modules]
    start = time.perf_counter_ns()
    run = engine.create(job, *modules)
    create_ns = time.perf_counter_ns() - start
    first_ns, results = _timed(run, mark)
    np.savez(job.folder / "outputs.npz", *[np.asarray(result) for result in results])
    run()  # some engines allocate again in the second inference, once shapes are final
    peak = resident_bytes("VmHWM") - before
    shipped_files = engine.shipped(job) or [job.beside(engine.reads)]
    shipped = sum(file.stat().st_size for file in shipped_files if file.exists())
    answer(create_ns=create_ns, first_ns=first_ns, peak_bytes=peak, shipped_bytes=shipped)
    for line in commands:
        before, start, begin = waited(), time.perf_counter_ns(), time.process_time_ns()
        times = [_timed(run, mark)[0] for _ in range(int(line))]
        end = time.process_time_ns()
        share = (waited() - before) / max(time.perf_counter_ns() - start, 1)
        # What is read above is no work of the engine, and a busy machine sleeps longer.
        pause, idle = time.perf_counter_ns(), time.process_time_ns()
        time.sleep(_PAUSE_S)
        waiting = (time.process_time_ns() - idle) / (time.perf_counter_ns() - pause)
        cpu_ns = (end - begin) / max(len(times), 1)
        answer(ns=times, cpu_ns=cpu_ns, waiting_cores=waiting, waited=share)


def waited() -> int:
    """Nanoseconds for which the threads of this process were ready and had no core (schedstat)."""
    tasks = Path("/proc/self/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[1]) for task in tasks)


def serve_jobs(commands: TextIO, answers: TextIO) -> None:
    """Answers each line: the mode `jobs`. A job that fails answers with its error."""
    run: Run = list
    for line in commands:
        answer: dict[str, Any] = {}
        try:
            if line.strip().isdigit():
                begin, before, start = time.perf_counter_ns(), waited(), time.perf_counter_ns()
                for _ in range(int(line)):
                    run()
                answer["ns"] = time.perf_counter_ns() - start
                answer["waited"] = (waited() - before) / (time.perf_counter_ns() - begin)
            else:
                engine, job = _job(line)
                os.sched_setaffinity(0, job.cores or sorted(os.sched_getaffinity(0))[: job.threads])
                engine.convert(job)
                run = engine.create(job, *map(importlib.import_module, engine.modules))
                np.savez(job.folder / "outputs.npz", *map(np.asarray, run()))
        except Exception as error:  # each engine has its own
            answer["error"] = str(error)[-300:]
        print(json.dumps(answer), file=answers, flush=True)


def _job(text: str) -> tuple[EngineAdapter, PeerJob]:
    """The engine and the model that the JSON of a job names."""
    fields = json.loads(text)
    with np.load(fields["inputs"]) as archive:
        inputs = {name: archive[name] for name in archive.files}
    model, folder = Path(fields["model"]), Path(fields["folder"])
    threads, names = int(fields["threads"]), list(fields["names"])
    more = fields["prefer"], fields.get("cores", ()), fields.get("is_half", False)
    job = PeerJob(model, folder, threads, inputs, names, *more)
    return ENGINES[fields["engine"]], job


def main(mode: str, text: str = "", count: str = "") -> None:
    """Runs one of the modes described at the top of this file."""
    if mode == "probe":
        print(json.dumps(_versions()))
        return
    # Engines may print to stdout, so answers use a copy of it.
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        if mode == "jobs":
            serve_jobs(sys.stdin, answers)
            return
        engine, job = _job(text)
        if mode == "prepare":
            engine.convert(job)
        elif mode == "once":
            serve(engine, job, io.StringIO(f"{count}\n"), answers, _marker())
        else:
            serve(engine, job, sys.stdin, answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
