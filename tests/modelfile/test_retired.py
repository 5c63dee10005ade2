"""Model files of an older trimtab, whose operators others have replaced."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import trimtab
from tests.small_programs import Net
from trimtab import modelfile, schema
from trimtab.errors import TtmError


@pytest.mark.parametrize(("id", "name"), schema.RETIRED.items())
def test_a_retired_operator_is_refused_by_name_with_the_command_that_converts(
    id: int, name: str, tmp_path: Path
) -> None:
    net, path = Net(x=(2, 3)), tmp_path / "net.ttm"
    image = modelfile.encode(net.finish(net("reshape", "x", shape=(6,))))
    (var_count,) = struct.unpack_from("<I", image.data, 76)
    struct.pack_into("<H", image.data, 128 + 72 * var_count, id)
    modelfile.seal(image)
    image.tofile(path)
    with pytest.raises(TtmError, match=f"operator {name} was written with another") as error:
        trimtab.load(path)
    assert f"./inv convert MODEL {path}" in str(error.value)
    with pytest.raises(TtmError, match=f"operator {name} was written with another"):
        _ = modelfile.decode(image, "net").block  # which the engine has not checked
