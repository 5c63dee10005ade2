"""Link maps of both linkers, and which part of the project an object belongs to."""

from __future__ import annotations

import pytest

from trimtab.size import linkmap
from trimtab.size.linkmap import Contribution
from trimtab.size.owner import owner

LLD = """\
some warning
             VMA              LMA     Size Align Out     In      Symbol
         1000240          1000240      e92    16 .rodata
         1000240          1000240       75     1         <internal>:(.rodata.str1.1)
         10002b8          10002b8       18     8         libtrimtab.a(conv.cpp.o):(.rodata._ZTV)
         10002b8          10002b8        0     1                 $d
         10002b8          10002b8       18     1                 vtable for Conv
         1011094          1011094       10     4 .text
         1011094          1011094       10     4         a b/crt1.o:(.text)
         1011094          1011094       10     1                 _start
"""

GNU = """\
Discarded input sections

 .text          0x0000000000000000       0x40 discarded.o

Linker script and memory map

LOAD libtrimtab.a

.text           0x0000000000400e80     0x1000
 *(.text.unlikely .text.*_unlikely .text.unlikely.*)
 .text.startup.main
                0x0000000000400e80        0x4 CMakeFiles/trimtab-run.dir/runtime/app/main.cpp.o
                0x0000000000400e80                main
 *fill*         0x0000000000400e84        0xc 1f2003d5
 .text          0x0000000000400e90       0x24 /usr/lib/libgcc.a(lse-init.o)
                0x0000000000400e90                PROVIDE (etext = .)
 .rodata.str1.8
                0x0000000000400ec0       0x20 libtrimtab.a(conv.cpp.o)
                                         0x41 (size before relaxing)
 .got           0x0000000000400f00        0x8 linker stubs
"""


def test_reads_the_map_of_lld() -> None:
    link_map = linkmap.parse(LLD)
    assert link_map.contributions == (
        Contribution(0x1000240, 0x75, "<internal>", ".rodata.str1.1"),
        Contribution(0x10002B8, 0x18, "libtrimtab.a(conv.cpp.o)", ".rodata._ZTV"),
        Contribution(0x1011094, 0x10, "a b/crt1.o", ".text"),
    )
    assert link_map.names == {0x10002B8: "vtable for Conv", 0x1011094: "_start"}


def test_reads_the_map_of_gnu_ld() -> None:
    link_map = linkmap.parse(GNU)
    main = "CMakeFiles/trimtab-run.dir/runtime/app/main.cpp.o"
    assert link_map.contributions == (
        Contribution(0x400E80, 0x4, main, ".text.startup.main"),
        Contribution(0x400E90, 0x24, "/usr/lib/libgcc.a(lse-init.o)", ".text"),
        Contribution(0x400EC0, 0x20, "libtrimtab.a(conv.cpp.o)", ".rodata.str1.8"),
        Contribution(0x400F00, 0x8, "<internal>", ".got"),
    )
    assert link_map.names[0x400E80] == "main"


def test_any_other_text_is_an_empty_map() -> None:
    assert linkmap.parse("hello\nworld\n") == linkmap.LinkMap((), {})


@pytest.mark.parametrize(
    ("source", "section", "part"),
    [
        ("libtrimtab.a(conv.cpp.o)", ".text._ZN8trimtab4Conv3RunEv", "op:conv"),
        ("libtrimtab.a(window.cpp.o)", ".text._ZN8trimtab11PointAtTileEv", "shared:window"),
        ("libtrimtab.a(gemm_f32_portable.cpp.o)", ".text", "kernel:gemm_f32_portable"),
        ("libtrimtab.a(executor.cpp.o)", ".text", "core:executor"),
        ("libtrimtab.a(trimtab.cpp.o)", ".text.trimtab_run", "api"),
        ("libtrimtab.a(registry.cpp.o)", ".rodata._ZN7trimtab14kOperatorTableE", "tables"),
        ("libtrimtab.a(registry.cpp.o)", ".text._ZN7trimtab12FindOperatorEt", "core:registry"),
        ("libtrimtab.a(kernel_table.cpp.o)", ".data.rel.ro._ZN7trimtab12kKernelTableE", "tables"),
        ("CMakeFiles/trimtab-run.dir/runtime/app/main.cpp.o", ".text.main", "runner"),
        ("CMakeFiles/trimtab-run.dir/embedded_model.S.o", ".rodata", "model"),
        ("/cache/o/1f/libc.a(/cache/o/2e/mmap.o)", ".text.mmap", "libc"),
        ("/cache/o/1f/crt1.o", ".text", "libc"),
        ("/usr/lib/gcc/aarch64-linux-gnu/12/crtbegin.o", ".text", "compiler_rt"),
        ("/cache/o/1f/libcompiler_rt.a(x.o)", ".text", "compiler_rt"),
        ("/ndk/libclang_rt.builtins-aarch64-android.a(divtf3.o)", ".text", "compiler_rt"),
        ("libtrimtab.a(conv.cpp.o)", ".rodata.str1.1", "merged"),
        ("<internal>", ".rodata.cst16", "merged"),
        ("<internal>", ".got", "linker"),
        ("/usr/lib/crt1.o", ".gnu.version_r", "linker"),
        ("libother.a(conv.cpp.o)", ".text", "unattributed"),
        ("libtrimtab.a(no_such_file.cpp.o)", ".text", "unattributed"),
    ],
)
def test_every_object_belongs_to_one_part(source: str, section: str, part: str) -> None:
    assert owner(source, section) == part
