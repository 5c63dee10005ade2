"""Files with right checksums and wrong tables: the engine checks each field."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from trimtab import _engine, modelfile
from trimtab.modelfile import records
from trimtab.modelfile.image import Image
from trimtab.program import Program

FAR = 0xFFFFFFF0


@pytest.fixture(scope="module")
def sound() -> Image:
    """One operator with two inputs, of which the second is a constant: variables x, c and y."""
    program = Program("sum")
    x = program.add_input("x", (1, 2, 3, 3))
    c = program.block.add_constant(np.ones((1, 2, 3, 3), np.float32), "c")
    program.outputs = program.block.add_op("add", [x, c], {}, ["y"])
    return modelfile.encode(program)


def variable(index: int, field: int) -> int:
    """The place of a field of a variable's record."""
    return records.TABLES_AT + index * records.VAR.size + field


def operator(field: int) -> int:
    """The place of a field of the operator's record."""
    return records.TABLES_AT + 3 * records.VAR.size + field


def boundary(index: int) -> int:
    """The place of an index of an input or output of the graph."""
    return records.TABLES_AT + 3 * records.VAR.size + records.OP.size + 4 * index


DAMAGES: dict[str, tuple[int | str, str, int, str]] = {
    "rank 9": (variable(0, 54), "<B", 9, "bad rank or layout"),
    "layout 2": (variable(0, 53), "<B", 2, "bad rank or layout"),
    "type 60": (variable(0, 52), "<B", 60, "unknown element type"),
    "a negative size": (variable(0, 0), "<i", -1, "negative or too large"),
    "a size too large": (variable(0, 0), "<i", 2**30, "negative or too large"),
    "a name outside": (variable(0, 48), "<I", FAR, "bad name of a variable"),
    "data outside": (variable(1, 32), "<Q", 2**40, "outside the constants"),
    "data in the tables": (variable(1, 32), "<Q", 64, "outside the constants"),
    "data that is not aligned": (variable(1, 32), "<B", 4, "outside the constants"),
    "short data": (variable(1, 40), "<Q", 71, "data of a variable is too short"),
    "a part without parent": (variable(2, 55), "<B", 2, "a sub-tensor is outside its parent"),
    "operands outside": (operator(4), "<I", FAR, "an operator lies outside the file"),
    "operands in the header": (operator(4), "<I", 0, "an operator lies outside the file"),
    "attributes outside": (operator(8), "<I", FAR, "an operator lies outside the file"),
    "attributes too long": (operator(12), "<I", FAR, "an operator lies outside the file"),
    "its name outside": (operator(16), "<I", FAR, "an operator lies outside the file"),
    "an input after the last variable": ("operand 0", "<I", 3, "bad operand index"),
    "an absent output": ("operand 2", "<I", records.ABSENT, "bad operand index"),
    "an index far away": ("operand 1", "<I", FAR, "bad operand index"),
    "an input of the graph after the last": (boundary(0), "<I", 3, "bad input or output index"),
    "a constant as an input": (boundary(0), "<I", 1, "an input has constant data"),
    "an output of the graph far away": (boundary(1), "<I", FAR, "bad input or output index"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_wrong_field_is_refused_by_its_own_check(sound: Image, damage: str) -> None:
    place, form, value, message = DAMAGES[damage]
    image = modelfile.encode(modelfile.decode(sound, "sound"))
    if isinstance(place, str):
        operands = struct.unpack_from("<I", image.data, operator(4))[0]
        place = operands + 4 * int(place.split()[1])
    struct.pack_into(form, image.data, place, value)
    modelfile.seal(image)
    with pytest.raises(_engine.EngineError, match=message):
        _engine.check_model(image)


def test_the_sound_file_is_accepted(sound: Image) -> None:
    _engine.check_model(sound)
