"""examples/android without Android: its frames against OpenCV and onnxruntime, its types."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import cv2
import pytest

from tests.examples.test_camera import check, expected, pictures, recipe
from tests.examples.test_face_detector import run
from trimtab import paths
from trimtab.pipeline.built import build
from trimtab.pipeline.loaded import load
from trimtab.pipeline.planned import plan

EXAMPLE = paths.root() / "examples" / "android" / "app" / "src" / "main"
STUBS = paths.root() / "tests" / "examples" / "android"
COMPILER = (sys.executable, "-m", "ziglang", "cc", "-std=c99", "-Wall", "-Wextra", "-Werror")


@pytest.mark.build
def test_frames_of_android_cameras_have_the_boxes_of_their_pixels(tmp_path: Path) -> None:
    model, one = recipe("objects", tmp_path, "host", "")
    build(plan(load(one)))
    frame = cv2.cvtColor(pictures()["wide.ppm"], cv2.COLOR_RGB2YUV_I420)
    (tmp_path / "frame.yuv").write_bytes(frame.tobytes())
    dist, program = tmp_path / "dist", tmp_path / "frames"
    sources = STUBS / "frames.c", EXAMPLE / "cpp" / "detector.c"
    own = f"-I{EXAMPLE / 'cpp'}", f"-I{dist}"
    links = dist / "libtrimtab.a", "-lm", "-pthread", "-o", program
    run(*COMPILER, *own, *sources, *links, cwd=tmp_path)
    text = run(program, dist / "net.ttm", "frame.yuv", 312, 120, cwd=tmp_path)
    *boxes, last = text.splitlines()
    assert last.startswith("other refused")
    rows = expected(model, cv2.cvtColor(frame, cv2.COLOR_YUV2RGB_I420))
    for name in ("i420", "nv12", "nv21"):
        lines = [line.partition("|")[2] for line in boxes if line.startswith(name)]
        check(lines, rows)


@pytest.mark.parametrize("target", ["aarch64", "arm", "x86_64"])
def test_native_methods_have_the_types_of_jni_and_of_the_ndk(target: str, tmp_path: Path) -> None:
    machine = f"{target}-linux-musleabihf" if target == "arm" else f"{target}-linux-musl"
    api = "-D__ANDROID_API__=29", '-DDETECTOR_ABI="any"'
    headers = f"-I{STUBS}", f"-I{paths.root() / 'runtime' / 'api'}"
    words = *COMPILER, "-target", machine, *api, *headers, "-c", "-o", tmp_path / "jni.o"
    done = subprocess.run(
        [*words, EXAMPLE / "cpp" / "jni.c"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_kotlin_declares_the_native_methods() -> None:
    kotlin = (EXAMPLE / "kotlin/org/trimtab/example/Detector.kt").read_text()
    c = (EXAMPLE / "cpp" / "jni.c").read_text()
    declared = [part.split("(")[0] for part in kotlin.split("external fun ")[1:]]
    defined = [part.split("(")[0] for part in c.split("Java_org_trimtab_example_Detector_")[1:]]
    assert sorted(declared) == sorted(defined)
