"""Writes a C program that uses a build: it knows the network's inputs and outputs by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from trimtab import paths
from trimtab.program import Op, Program, Var


class _CType(NamedTuple):
    """The C type of an element, its name in comments, and how printf shows it."""

    name: str
    words: str
    format: str
    cast: str = ""


_TYPES: Mapping[str, _CType] = {
    "f32": _CType("float", "float32", "%g"),
    "f16": _CType("uint16_t", "the bits of float16", "0x%04x"),
    "i8": _CType("int8_t", "int8", "%d"),
    "u8": _CType("uint8_t", "uint8", "%d"),
    "i32": _CType("int32_t", "int32", "%ld", "(long)"),
    "i64": _CType("int64_t", "int64", "%lld", "(long long)"),
    "bool": _CType("uint8_t", "bool", "%d"),
    "f64": _CType("double", "float64", "%g"),
    "i16": _CType("int16_t", "int16", "%d"),
    "u16": _CType("uint16_t", "uint16", "%u"),
    "u32": _CType("uint32_t", "uint32", "%lu", "(unsigned long)"),
}


def sources(program: Program, model: str, *, names: bool = True) -> dict[str, str]:
    """The files of the example for a planned network, by name. `model`: the name of its file;
    `names`: whether that file contains names, without which tensors are found by index.
    """
    inputs, outputs = (
        [_Tensor(kind, i, program.vars[name], names) for i, name in enumerate(listed)]
        for kind, listed in (("input", program.inputs), ("output", program.outputs))
    )
    cameras = {op.inputs[0]: op for op in program.ops if op.type == "camera_image"}
    settings = [
        _image(t, cameras[t.var.name]) if t.var.name in cameras else t.setting for t in inputs
    ]
    has_boxes = {"boxes", "count"} <= {*program.outputs}
    printed = [t for t in outputs if not (has_boxes and t.var.name in ("boxes", "count"))]
    values = {
        "model": _comment(model),
        "usage": "".join(f" [{t.variable.upper()}.bin]" for t in inputs),
        "declarations": "\n".join(t.declaration for t in inputs),
        "inputs": "\n".join(settings),
        "outputs": "\n".join([*[_BOXES] * has_boxes, *[_TENSOR] * bool(printed)])
        + "\n".join(t.printing for t in printed),
        "tensors": "\n".join(f"| `{_comment(t.label)}` | {t.words} |" for t in (*inputs, *outputs)),
    }
    folder = paths.root() / "templates" / "example"
    return {
        template.stem: re.sub(
            r"@(\w+)@", lambda match: values[match[1]], template.read_text(encoding="utf-8")
        )
        for template in sorted(folder.glob("*.in"))
    }


class _Tensor:
    """An input or output of the network in the program's text. `kind`: "input" or "output"."""

    def __init__(self, kind: str, index: int, var: Var, names: bool) -> None:
        self.kind, self.index, self.var = kind, index, var
        self.type = _TYPES[var.dtype]
        self.variable = f"{kind}{index}"
        self.label = var.name if names else self.variable
        self.words = f"{self.type.words} {[*var.shape]}"
        self.at = f"trimtab_{kind}_index(model, {_literal(var.name)})" if names else str(index)

    @property
    def declaration(self) -> str:
        count = max(self.var.count, 1)
        comment = f"/* {_comment(self.label)}: {self.words} */"
        return f"{comment}\nstatic {self.type.name} {self.variable}[{count}];"

    @property
    def setting(self) -> str:
        size = f"sizeof {self.variable}" if self.var.count else "0"
        place, name = self.index + 2, self.variable
        return (
            f"  if (argc > {place} && read_values(argv[{place}], {name}, {size}) != 0) return 1;\n"
            f"  if (trimtab_set_input(model, {self.at}, {name}, {size}) !=\n"
            f"      TRIMTAB_OK) /* not copied */\n"
            f"    return fail({_literal(self.label)}, trimtab_last_error(model));\n"
        )

    @property
    def printing(self) -> str:
        label, shown, name = _literal(self.label), self.type, self.variable
        return (
            f"  /* {_comment(self.label)}: {self.words} */\n"
            f"  if (trimtab_output(model, {self.at}, &tensor) != TRIMTAB_OK)\n"
            f'    return fail({label}, "is not an output");\n'
            f"  const {shown.name}* {name} = tensor.data;\n"
            f'  printf("%s:", {label});\n'
            f"  for (size_t i = 0; i < {self.var.count} && i < PRINTED; ++i)"
            f' printf(" {shown.format}", {shown.cast}{name}[i]);\n'
            f'  printf("\\n");\n'
        )


_TENSOR = "  trimtab_tensor tensor; /* its data are valid until the next run */\n"
_BOXES = """\
  for (int32_t i = 0; i < trimtab_box_count(model, 0); ++i) {
    trimtab_box box; /* its pointers are valid until the next run */
    if (trimtab_box_at(model, 0, i, &box) != TRIMTAB_OK)
      return fail("box", trimtab_last_error(model));
    printf("class %ld %s: score %.3f, from %.1f, %.1f to %.1f, %.1f\\n", (long)box.class_index,
           box.label, box.score, box.xmin, box.ymin, box.xmax, box.ymax);
  }
"""


def _image(tensor: _Tensor, camera: Op) -> str:
    """The setting of an input behind a camera: its file is a frame of the camera's format."""
    place, name, frame = tensor.index + 2, tensor.variable, f"frame{tensor.index}"
    format, stride = str(camera.attributes["format"]), int(camera.attributes["stride"])
    height, width = camera.attributes["frame"]
    strides = {"nv12": [stride] * 2, "nv21": [stride] * 2, "i420": [stride, *[stride // 2] * 2]}
    offset, lines = 0, []
    for plane, bytes in enumerate(strides.get(format, [stride])):
        lines.append(f"  {frame}.planes[{plane}] = {name} + {offset};\n")
        lines.append(f"  {frame}.strides[{plane}] = {bytes};\n")
        offset += bytes * (height if plane == 0 else (height + 1) // 2)
    return (
        f"  if (argc > {place} && read_values(argv[{place}], {name}, sizeof {name}) != 0)"
        f" return 1;\n"
        f"  trimtab_image {frame} = {{0}}; /* {format}: the planes of your camera's driver */\n"
        f"  {frame}.width = {width};\n  {frame}.height = {height};\n{''.join(lines)}"
        f"  if (trimtab_set_image(model, {tensor.at}, &{frame}) != TRIMTAB_OK) /* not copied */\n"
        f"    return fail({_literal(tensor.label)}, trimtab_last_error(model));\n"
    )


def _literal(text: str) -> str:
    """A C string literal; everything that could end or change it becomes an octal escape."""
    safe = (
        character if re.fullmatch(r"[\w .,:/+-]", character, re.ASCII) else f"\\{byte:03o}"
        for byte in text.encode()
        for character in [chr(byte)]
    )
    return f'"{"".join(safe)}"'


def _comment(text: str) -> str:
    """`text` in one line, without characters that end a comment or a cell of a table."""
    return re.sub(r"[^\w .,:+-]", "_", text)
