"""Puts a camera in front of a network: an operator that makes its input from a frame."""

from __future__ import annotations

from typing import Any

from trimtab.camera.description import Camera, Size, parse, with_steps
from trimtab.errors import UsageError
from trimtab.program import Program, Var

_ROTATIONS = {0: "none", 90: "quarter", 180: "half", 270: "three_quarters"}
_CONVERSIONS = {"u8": "quantize_linear", "f16": "cast"}
"""What makes the elements of a network's input of the operator's own, which are f32 or i8."""
_LUMA = (0.299, 0.587, 0.114)


def attach(program: Program, camera: Camera | str, input: str = "") -> Program:
    """A copy of `program` whose input is a frame of `camera`, a value or its description.

    `input`: the name of the input, which stays; default: the only one. A frame is a uint8 array of
    `Camera.frame_shape`. UsageError if the network has no such input, or its shape or type does not
    fit the description.
    """
    camera = parse(camera) if isinstance(camera, str) else camera
    if program.planned:
        raise UsageError(
            "the network is already planned",
            where=program.name,
            hint="attach the camera to the network that was loaded, and plan that",
        )
    program.require_fixed_inputs("a camera")
    camera = with_steps_of(program, camera)
    twin = program.copy()
    name = _input(twin, input)
    block, old = twin.block, twin.vars[name]
    size, is_channels_last = _size(old, camera)
    to_int8 = old.dtype == "i8"
    attributes = {**_attributes(camera, size), "to": "i8" if to_int8 else "f32"}
    del block.vars[name]
    frame = block.vars[name] = Var(name, camera.frame_shape, "u8")
    op = block.make_op("camera_image", [frame.name], attributes, [block.new_name(f"{name}.pixels")])
    ops = [op]
    if is_channels_last:
        permutation = {"permutation": (0, 2, 3, 1)}
        ops.append(block.make_op("transpose", op.outputs, permutation, [f"{name}.transposed"]))
    if len(old.shape) == 3:
        ops.append(block.make_op("reshape", op.outputs, {"shape": old.shape}, [f"{name}.alone"]))
    if old.dtype in _CONVERSIONS:
        to, convert = {"to": old.dtype}, _CONVERSIONS[old.dtype]
        ops.append(block.make_op(convert, ops[-1].outputs, to, [f"{name}.converted"]))
    if to_int8:
        for one in ops:
            block.vars[one.outputs[0]].quantization = old.quantization
    block.vars[ops[-1].outputs[0]].quantization = old.quantization
    block.replace_uses(name, ops[-1].outputs[0])
    op.inputs = [name]
    block.ops[:0] = ops
    twin.input_ranges.pop(name, None)
    return twin


def with_steps_of(program: Program, camera: Camera) -> Camera:
    """The camera, with the steps that the model's file says in place of `auto`; UsageError if it
    says none.
    """
    if not camera.follows_model:
        return camera
    if not program.hints.camera:
        refusal = program.hints.refusal
        raise UsageError(
            "the model's file does not say how pictures become its input"
            + (f" in steps of a camera: {refusal}" if refusal else ""),
            where=program.name,
            hint="write the steps instead of auto (docs/camera.md): yolo, imagenet, or such as "
            "'resize(auto) | rgb | scale(1/255)'",
        )
    return with_steps(camera, program.hints.camera)


def _input(program: Program, name: str) -> str:
    """The name of the input; UsageError if there is none of that name, or no only one."""
    names = ", ".join(program.inputs)
    if not name and len(program.inputs) == 1:
        return program.inputs[0]
    if name not in program.inputs:
        problem = f"there is no input {name!r}" if name else "the network has several inputs"
        raise UsageError(problem, where=program.name, hint=f"name one of: {names}")
    if program.is_output(name):
        raise UsageError(f"the input {name!r} is also an output", where=program.name)
    return name


def _size(var: Var, camera: Camera) -> tuple[Size, bool]:
    """Width and height of the network's input, and whether its channels are last."""
    count, shape = camera.channel_count, var.shape if len(var.shape) != 3 else (1, *var.shape)
    if var.dtype not in ("f32", "f16") and (
        var.quantization is None or var.quantization.axis is not None
    ):
        raise UsageError(
            f"the input {var.name!r} is {var.dtype}, and a camera gives f32 or quantized values",
            hint="attach the camera to an input of an image",
        )
    if len(shape) == 4 and shape[0] == 1 and count in (shape[1], shape[3]):
        is_last = shape[1] != count
        size = (shape[2], shape[1]) if is_last else (shape[3], shape[2])
        if camera.multiple:
            _require_multiple(camera, camera.multiple, size)
        if camera.size in (None, size):
            return size, is_last
        across, down = camera.size or size
        raise UsageError(
            f"the camera's description has the size {across}x{down}, and the input {var.name!r} "
            f"is {size[0]}x{size[1]}",
            hint="leave the size out, or load the network with that size",
        )
    raise UsageError(
        f"the input {var.name!r} has the shape {list(var.shape)}, and a camera gives one image of "
        f"{count} channel{'s'[: count != 1]}",
        hint="rgb, bgr or gray in the description sets the channels",
    )


def _require_multiple(camera: Camera, multiple: tuple[int, int, int], size: Size) -> None:
    """Checks that a result of `size` keeps the shape of the camera's frames: both sides by the
    factor, of those that make one of them the width or height of `multiple`, that is nearer to 1;
    then rounded to multiples of its last number. As with `keep_aspect_ratio` in transformers'
    DPTImageProcessor. UsageError for another size, and for frames that differ in size.
    """
    if camera.min_size:
        raise UsageError(
            "frames of each size become an input of another size, and the network has one",
            hint="give the camera one size: camera(nv12, 1920x1080)",
        )
    *target, n = multiple
    turned = -1 if camera.rotation in (90, 270) else 1
    width, height = camera.region[2:][::turned]
    across, down = target[0] / width, target[1] / height
    factor = across if abs(1 - across) < abs(1 - down) else down
    expected = round(factor * width / n) * n, round(factor * height / n) * n
    if expected != size:
        raise UsageError(
            f"frames of {width}x{height} become an input of {expected[0]}x{expected[1]}, which "
            f"keeps their shape, and the network's is {size[0]}x{size[1]}",
            hint=f"export the network for {expected[0]}x{expected[1]}, or write resize(auto) "
            "instead of auto, which stretches them",
        )


def _attributes(camera: Camera, size: Size) -> dict[str, Any]:
    """The attributes of the operator for a network's input of `size`."""
    left, top, width, height = camera.content(size)
    x, y, across, down = camera.region
    turned = (down, across) if camera.rotation in (90, 270) else (across, down)
    if camera.method == "area" and (width > turned[0] or height > turned[1]):
        raise UsageError(
            f"area only shrinks pictures, and this one grows from {turned[0]}x{turned[1]} to "
            f"{width}x{height}",
            hint="use bilinear or antialias",
        )
    count = camera.channel_count
    color: tuple[float, ...] = camera.color
    if camera.channels == "bgr":
        color = color[::-1]
    elif camera.channels == "gray":
        color = (round(sum(w * v for w, v in zip(_LUMA, color, strict=True))),)
    stride = camera.stride or camera.pixels.row_bytes(camera.width)
    free: dict[str, Any] = {}
    if camera.min_size:
        free["fit"] = camera.fit_of_frames
        free["min_frame"] = camera.min_size[::-1]
        if camera.fit.startswith("center_crop"):
            free["shorter"] = camera.resized_crop(size)
    return free | {
        "format": camera.format,
        "range": camera.range,
        "matrix": camera.matrix,
        "frame": (camera.height, camera.width),
        "stride": stride,
        "region": (y, x, down, across),
        "rotation": _ROTATIONS[camera.rotation],
        "content": (top, left, height, width),
        "sizes": (size[1], size[0]),
        "method": camera.method,
        "centers": camera.centers,
        "channels": camera.channels,
        "color": tuple(map(float, color)),
        "scale": camera.scale * (count // len(camera.scale)),
        "offset": camera.offset * (count // len(camera.offset)),
    }
