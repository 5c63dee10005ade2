"""Counts the instructions of ncnn's steps from an NV12 frame to a network's input on a Cortex-A53,
beside those of the operator: `yuv420sp2rgb_nv12`, `Mat::from_pixels_resize`, `copy_make_border` and
`substract_mean_normalize`, compiled from ncnn's sources, 1920x1080 to a letterbox of 640x640.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx

from lab.camera.measure import CASES
from lab.experiment import Experiment, FigureRow, computed, figure, figure_row, text
from trimtab import files
from trimtab.bench import emulator_counts
from trimtab.camera import parse
from trimtab.devices import find_device
from trimtab.devices.protocol import InstructionCounter, Transcript
from trimtab.errors import EmulatorError, UsageError
from trimtab.pipeline.instructions import count_instructions, emulated_device
from trimtab.pipeline.recipe import Recipe
from trimtab.progress import Progress
from trimtab.zoo.builder import INPUT, Net

CASE = "nv12 to a letterbox"
CPU = "cortex-a53"
BAR = 0.5
"""The largest ratio to ncnn's instructions that the project promises."""

_SOURCES = (
    *("mat.cpp", "mat_pixel.cpp", "mat_pixel_resize.cpp", "allocator.cpp", "layer.cpp", "cpu.cpp"),
    *("paramdict.cpp", "modelbin.cpp", "datareader.cpp", "option.cpp", "layer/padding.cpp"),
    *("layer/scale.cpp", "layer/arm/padding_arm.cpp", "layer/arm/scale_arm.cpp"),
)
_LAYERS = ("Padding", "Scale")
_SWITCHES = ("NCNN_PIXEL", "NCNN_STDIO", "NCNN_STRING", "NCNN_GNU_INLINE_ASM")
_FLAGS = ("-O3", "-DNDEBUG", "-g0", "-ffunction-sections", "-fdata-sections", "-fno-exceptions")
_FLAGS_OF_ZIG = ("-fno-rtti", "-fno-sanitize=all", "-static", "-Wl,--gc-sections", "-w")
_SECONDS = 1800.0
_PROGRAM = """
#include <stdlib.h>
#include <sys/prctl.h>
#include "mat.h"
#include "option.h"
static void Mark(int phase) { prctl(0x7472696D, phase, 0, 0, 0); }
int main() {
  const int w = 1920, h = 1080;
  unsigned char* frame = (unsigned char*)malloc(w * h * 3 / 2);
  unsigned char* rgb = (unsigned char*)malloc(w * h * 3);
  for (int i = 0; i < w * h * 3 / 2; ++i) frame[i] = i * 7 >> 3;
  const float scale[3] = {1 / 255.f, 1 / 255.f, 1 / 255.f};
  ncnn::Option option;
  option.num_threads = 1;
  for (int i = 0; i < 2; ++i) {
    Mark(3);
    ncnn::yuv420sp2rgb_nv12(frame, w, h, rgb);
    ncnn::Mat part = ncnn::Mat::from_pixels_resize(rgb, ncnn::Mat::PIXEL_RGB, w, h, 640, 360);
    ncnn::Mat x;
    ncnn::copy_make_border(part, x, 140, 140, 0, 0, ncnn::BORDER_CONSTANT, 114.f, option);
    x.substract_mean_normalize(0, scale);
    Mark(4);
    if (x.w != 640 || x.h != 640 || x.channel(2).row(0)[0] != 114 * scale[2]) return 1;
  }
}
"""


@figure_row
class NcnnRow(FigureRow):
    """Instructions of one case: ncnn's steps, and the operator."""

    case: str = text("case")
    cpu: str = text("core")
    ncnn_instructions: int = figure()
    own_instructions: int = figure()
    ncnn: float = computed("ncnn", ".2f", of=lambda row: row.ncnn_instructions / 1e6)
    trimtab: float = computed("trimtab", ".2f", of=lambda row: row.own_instructions / 1e6)
    ratio: float = computed("ratio", ".3f", of=lambda row: row.trimtab / row.ncnn)


NCNN = Experiment("bench.camera", "camera/ncnn", NcnnRow, stand_ins={"ncnn": "FOLDER"})


def measure(source: Path, progress: Progress) -> tuple[list[NcnnRow], dict[str, str]]:
    """The counts of ncnn's steps and of the operator, and the versions of programs; `source`: a
    checkout of ncnn.

    UsageError if it is none; EmulatorError without QEMU's plug-ins.
    """
    if not (source / "src" / "mat_pixel.cpp").is_file():
        raise UsageError(
            f"{source} is not a checkout of ncnn", hint="clone github.com/Tencent/ncnn"
        )
    with tempfile.TemporaryDirectory(prefix="trimtab-") as name, progress.step("count"):
        folder = Path(name)
        theirs, emulator = _count_ncnn(_compile(source / "src", folder))
        network = folder / "camera.onnx"
        net = Net("camera", (1, 3, 640, 640))  # a network that only has to exist
        net.output(net.op("Neg", [INPUT]), "y")
        onnx.save(net.model(""), network)
        recipe = Recipe(model=str(network), cpu=CPU, cameras={INPUT: parse(CASES[CASE])})
        counts = count_instructions(recipe, folder, progress)
    (own,) = (n for label, n in counts.operators if label.startswith("camera_image"))
    versions = {"ncnn": _revision(source), **counts.versions, "emulator": emulator}
    return [NcnnRow(CASE, CPU, theirs, own)], versions


def _compile(source: Path, folder: Path) -> Path:
    """The program of the steps; the generated headers name the layers that it needs."""
    platform = (source / "platform.h.in").read_text(encoding="utf-8")
    platform = re.sub(
        r"#cmakedefine01 (\w+)", lambda m: f"#define {m[1]} {int(m[1] in _SWITCHES)}", platform
    )
    mat = (source / "mat.cpp").read_text(encoding="utf-8")
    layers = sorted({*re.findall(r"LayerType::(\w+)", mat)})
    creators, tables = [], []
    for table, suffix in (("layer_registry", ""), ("layer_registry_arch", "_arm")):
        creators += [
            f"static Layer* {layer}{suffix}_new(void*) {{ return new {layer}{suffix}; }}"
            for layer in _LAYERS
        ]
        rows = [f'{{"{x}", {f"{x}{suffix}_new" if x in _LAYERS else 0}}}' for x in layers]
        tables.append(f"static const layer_registry_entry {table}[] = {{{', '.join(rows)}}};")
    includes = [f'#include "layer/arm/{layer.lower()}_arm.h"' for layer in _LAYERS]
    headers = {
        "platform.h": re.sub(r"#cmakedefine .*", "", platform),
        "ncnn_export.h": "#define NCNN_EXPORT\n#define NCNN_NO_EXPORT\n",
        "layer_type_enum.h": "".join(f"{layer},\n" for layer in layers),
        "layer_shader_type_enum.h": "",
        "layer_declaration.h": "\n".join([*includes, "namespace ncnn {", *creators, "}"]),
        "layer_registry.h": "\n".join(tables),
        "chain.cpp": _PROGRAM,
    }
    for name, content in headers.items():
        files.write_text(folder / name, content)
    places = (folder, source, source / "layer", source / "layer" / "arm")
    words = [sys.executable, "-m", "ziglang", "c++", "-target", "aarch64-linux-musl"]
    words += ["-mcpu=cortex_a53", *_FLAGS, *_FLAGS_OF_ZIG, *(f"-I{place}" for place in places)]
    words += [str(folder / "chain.cpp"), *(str(source / name) for name in _SOURCES)]
    program = folder / "chain"
    done = subprocess.run(
        [*words, "-o", str(program)], capture_output=True, text=True, check=False, timeout=_SECONDS
    )
    if done.returncode:
        raise UsageError(
            f"ncnn's sources do not compile: {done.stderr.strip()[-500:]}", where=str(source)
        )
    return program


def _count_ncnn(program: Path) -> tuple[int, str]:
    """The instructions of the second of two equal conversions, and the emulator."""
    printed = Transcript()
    with find_device(emulated_device(CPU)).open() as device:
        if not isinstance(device, InstructionCounter) or not device.can_count_instructions():
            raise EmulatorError("this QEMU has no TCG plug-ins", hint="use Debian's qemu-user")
        result, _ = device.count_instructions(
            [str(program)], timeout_s=_SECONDS, transcript=printed
        )
        emulator = device.describe().kernel.partition(" on ")[0]
    if result.exit_code:
        raise EmulatorError(f"ncnn's steps ended with {result.exit_code}")
    return emulator_counts.runs(printed.marks)[-1], emulator


def _revision(source: Path) -> str:
    words = ["git", "-C", str(source), "rev-parse", "--short=12", "HEAD"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown revision"
