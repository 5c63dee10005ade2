"""Checks before the work: whether a device can run what a build is going to push there.

The device runs a tiny program of the build's architecture. That is the only sure answer: a 64-bit
kernel may run 32-bit programs or not, and another one may run foreign programs by an emulator.
"""

from __future__ import annotations

import struct

from trimtab import files, paths
from trimtab.build.toolchain import Toolchain, find_toolchain, list_toolchains
from trimtab.devices.protocol import Device, InstructionCounter, Room
from trimtab.errors import DeviceError

_ANSWER = 42  # the exit code of the tiny programs
_RUN_S = 60.0
_MIN_FREE_BYTES = 128 << 10  # a runner and a model are hardly smaller
# ELF's number of the machine and flags, whether it has 64 bits, and the code of exit(42).
_PROGRAMS = {
    "aarch64": (183, 0, True, "40058052 a80b8052 010000d4"),  # mov w0, mov w8, svc
    "armv7": (40, 0x05000400, False, "2a00a0e3 0170a0e3 000000ef"),  # mov r0, mov r7, svc
    "riscv64": (243, 0x5, True, "1305a002 9308d005 73000000"),  # li a0, li a7, ecall
    "x86_64": (62, 0, True, "bf2a000000 b83c000000 0f05"),  # mov edi, mov eax, syscall
}
_LOADERS = {
    "aarch64": "/lib/ld-linux-aarch64.so.1",
    "armv7": "/lib/ld-linux-armhf.so.3",
    "riscv64": "/lib/ld-linux-riscv64-lp64d.so.1",
    "x86_64": "/lib64/ld-linux-x86-64.so.2",
}
_STATIC = {
    "aarch64": "aarch64-linux-musl",
    "armv7": "armv7-linux-musleabihf",
    "riscv64": "riscv64-linux-musl",
    "x86_64": "x86_64-linux-musl",
}
_ARCHES = {"arm64": "aarch64", "armv8l": "armv7", "armv7l": "armv7"}  # by `uname -m`


def check(device: Device, toolchain: str) -> Room:
    """The room on a connected device that can run what a toolchain builds.

    Raises `DeviceFullError` if there is none at all, and `DeviceError` if the device cannot run
    programs of the architecture, or has not the C library of a dynamic build.
    """
    room = device.room()
    room.check(_MIN_FREE_BYTES, "the runner")
    built = find_toolchain(toolchain)
    if built.arch in _PROGRAMS:
        _run_program(device, built)
    _find_loader(device, built)
    return room


def program(arch: str) -> bytes:
    """An ELF program that ends with exit code 42, for a value of TRIMTAB_ARCH."""
    machine, flags, is_64, code_text = _PROGRAMS[arch]
    code, base = bytes.fromhex(code_text), 0x400000
    header, segment = (64, 56) if is_64 else (52, 32)
    size = header + segment + len(code)
    word = "Q" if is_64 else "I"
    ident = b"\x7fELF" + bytes([2 if is_64 else 1, 1, 1]) + bytes(9)
    start = struct.pack(
        f"<HHI{word}{word}{word}", 2, machine, 1, base + header + segment, header, 0
    )
    sizes = struct.pack("<IHHHHHH", flags, header, segment, 1, 0, 0, 0)
    readable, page = 5, 0x10000  # may be read and executed; the largest page of any kernel
    if is_64:
        load = struct.pack("<IIQQQQQQ", 1, readable, 0, base, base, size, size, page)
    else:
        load = struct.pack("<IIIIIIII", 1, 0, base, base, size, size, readable, page)
    return ident + start + sizes + load + code


def _run_program(device: Device, toolchain: Toolchain) -> None:
    path = paths.cache() / "checks" / f"check-{toolchain.arch}"
    if not path.is_file() or path.read_bytes() != program(toolchain.arch):
        files.write_bytes(path, program(toolchain.arch), error=DeviceError)
    result = device.run([device.push(path).path], timeout_s=_RUN_S)
    if result.exit_code != _ANSWER:
        raise _foreign(device, toolchain)


def _foreign(device: Device, toolchain: Toolchain) -> DeviceError:
    machine = device.describe().machine
    own = _ARCHES.get(machine, machine)
    what = f"the device runs no {toolchain.arch} programs: its machine is {machine}"
    if own == toolchain.arch:
        what = (
            f"the device does not run a small {toolchain.arch} program, though its machine is that"
        )
    elif (own, toolchain.arch) == ("aarch64", "armv7"):
        what += ", without support for 32-bit programs"
    names = [name for name in list_toolchains() if find_toolchain(name).arch == own]
    return DeviceError(
        what,
        where=f"{device.name}, toolchain {toolchain.name}",
        hint="set `toolchain` in its definition, or --toolchain, to one for its machine: "
        f"{', '.join(names) or 'there is none yet (docs/toolchains.md)'}",
    )


def _find_loader(device: Device, toolchain: Toolchain) -> None:
    """Raises `DeviceError` if a dynamic build of the toolchain would not find its C library."""
    loader = _LOADERS.get(toolchain.arch, "")
    is_static = "-static" in toolchain.flags.link or toolchain.system != "Linux"
    if is_static or not loader or isinstance(device, InstructionCounter):  # which has a sysroot
        return
    if not device.shell(f"[ ! -e {loader} ] || echo found", "look for the C library"):
        raise DeviceError(
            f"the device lacks {loader}, which a dynamic {toolchain.arch} program needs",
            where=f"{device.name}, toolchain {toolchain.name}",
            hint="use a toolchain that builds static programs, such as "
            f"{_STATIC.get(toolchain.arch, 'one with musl')}: its userland has 32 bits, or another "
            "C library",
        )
