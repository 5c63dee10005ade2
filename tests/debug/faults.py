"""Faults that are planted in kernels: a copy of the checkout's sources made of links, in which one
file differs, so that binaries for devices have the fault and this machine's engine has not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from trimtab import paths


@dataclass(frozen=True)
class Fault:
    """A fault in `file` that computes `new` where the source says `old`, on a device. `operator`:
    the type of the first operator that it concerns in the small network.
    """

    kind: str
    device: str
    precision: str
    file: str
    old: str
    new: str
    operator: str
    threads: int = 1

    def __str__(self) -> str:
        return f"{self.device}-{self.precision}-{self.kind}-{Path(self.file).stem}"


class PlantedSources:
    """The sources, with room for a fault; `paths.root()` is this folder meanwhile."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        own = paths.root()
        self.root, self._own = folder / "sources", own
        self.root.mkdir()
        for entry in own.iterdir():
            if entry.name not in ("kernels", ".git", ".venv"):
                (self.root / entry.name).symlink_to(entry)
        for file in (own / "kernels").rglob("*.*"):
            link = self.root / file.relative_to(own)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(file)
        monkeypatch.setattr(paths, "root", lambda: self.root)

    @contextmanager
    def planted(self, fault: Fault) -> Iterator[None]:
        """The sources with this fault; afterwards the file is as it was, and newer."""
        self.replace(fault.file, fault.old, fault.new)
        yield
        self.write(fault.file, (self._own / fault.file).read_text())

    def replace(self, file: str, old: str, new: str) -> None:
        """Replaces a text of a file, which must have it."""
        text = (self.root / file).read_text()
        assert old in text, f"{file} has no {old!r}"
        self.write(file, text.replace(old, new))

    def write(self, file: str, text: str) -> None:
        """Writes a file anew, so that it is compiled again."""
        place = self.root / file
        place.unlink()
        place.write_text(text)


_MAP, _POOL = "kernels/generic/map.h", "kernels/generic/pool.h"
_SOFTMAX, _I8 = "kernels/generic/softmax.h", "kernels/arm/gemm_i8.h"
_TAIL = ("for (size_t i = 0; i < rest; ++i) end[i]", "for (size_t i = 1; i < rest; ++i) end[i]")
_STRIDE = ("++p, y += args.y_stride", "++p, y += args.y_stride - 1")
_ROUNDING = ("Set(1.0f / sum)", "Set(1.0f / sum + 0.03f)")
_NARROW = ('"sqxtn2 v" #s0 ".16b, v"', '"xtn2 v" #s0 ".16b, v"')
_TRUNCATES = ('"fcvtns v" #s', '"fcvtzs v" #s')
_COPY = ("from += width, to += c_stride", "from += width, to += c_stride - 1")
# Threads share the sums of a pixel, which takes long enough for both to be there.
_SUMS = "F sum[kVectors];\n    a += 3;\n    PoolColumn(a, c, combine, sum);"
_SPIN = 'for (int s = 0; s < 200000; ++s) __asm__ volatile("" : : "r"(&sum[0]) : "memory");'
_RACE = (_SUMS, f"static {_SUMS}\n    {_SPIN}")

FAULTS = (
    Fault("tail", "qemu-a53", "f32", _MAP, *_TAIL, "conv"),
    Fault("stride", "qemu-a53", "f32", _POOL, *_STRIDE, "max_pool"),
    Fault("rounding", "qemu-a53", "f32", _SOFTMAX, *_ROUNDING, "softmax"),
    Fault(
        *("lane", "qemu-a53", "f32", "kernels/arm/gemm_f32_4x16_neona53.cpp"),
        *("TRIMTAB_FMLA_ODD(20, 21, 22, 23, 1)", "TRIMTAB_FMLA_ODD(20, 21, 22, 23, 0)"),
        "conv",
    ),
    Fault("overflow", "qemu-a53", "int8", _I8, *_NARROW, "qlinear_conv"),
    Fault("rounding", "qemu-a53", "int8", _I8, *_TRUNCATES, "qlinear_conv"),
    Fault("stride", "qemu-a53", "int8", _I8, *_COPY, "qlinear_conv"),
    Fault("tail", "qemu-a76", "f16", _MAP, *_TAIL, "conv"),
    Fault("rounding", "qemu-a76", "f16", _SOFTMAX, *_ROUNDING, "softmax"),
    Fault(
        *("lane", "qemu-a76", "f16", "kernels/arm/gemm_f16_8x16_neonfp16.cpp"),
        *("b.v, a[i], kLane);", "b.v, a[i], 0);", "conv"),
    ),
    Fault("stride", "qemu-a76", "f16", _POOL, *_STRIDE, "max_pool"),
    Fault(
        *("lane", "qemu-a76", "int8", "kernels/arm/gemm_i8_4x16c4_neondot.cpp"),
        *('".4s, v23.16b, v" #a ".4b[" #lane "]\\n"', '".4s, v23.16b, v" #a ".4b[0]\\n"'),
        "qlinear_conv",
    ),
    Fault("overflow", "qemu-a76", "int8", _I8, *_NARROW, "qlinear_conv"),
    Fault(
        *("tail", "qemu-armv7", "f32", "kernels/arm/gemm_lane_armv7.h"),
        *(
            '"d0[0]", "d2[0]", "d4[0]", "d6[0]")\n        "5:',
            '"d0[1]", "d2[1]", "d4[1]", "d6[1]")\n        "5:',
        ),
        "conv",
    ),
    Fault("stride", "qemu-armv7", "f32", _POOL, *_STRIDE, "max_pool"),
    Fault("rounding", "qemu-armv7", "f32", _SOFTMAX, *_ROUNDING, "softmax"),
    Fault(
        *("overflow", "qemu-armv7", "int8", "kernels/arm/gemm_i8_2x4c16_neonv7.cpp"),
        *("low = vdupq_n_f32(static_cast<float>(vgetq_lane_s8(block.low, 0) - zero));",),
        *("low = vdupq_n_f32(-1e4f);", "qlinear_conv"),
    ),
    Fault(
        *("lane", "qemu-v1", "int8", "kernels/arm/gemm_i8_6x16c8_neoni8mm.cpp"),
        *('v" #a ".16b, v" #b ".16b', 'v" #b ".16b, v" #a ".16b', "qlinear_conv"),
    ),
    Fault("tail", "qemu-v1", "f32", _MAP, *_TAIL, "conv"),
    Fault("race", "qemu-v1", "f32", _POOL, *_RACE, "max_pool", threads=2),
)
"""Twenty faults of six kinds, on four cores."""
