"""Damaged files of every format: each is imported, or causes an error of trimtab.

`./inv fuzz --target sources` runs this test with other damage each time, and stores minimized
failures in tests/fuzz/found/sources.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.importers import damage, sources
from tests.some import some
from trimtab import importers
from trimtab.errors import ModelFileError, TrimtabError

# Suffixes: first those of the files to load, then those of their companions.
MAIN = (
    ".onnx",
    ".tflite",
    ".prototxt",
    ".cfg",
    ".param",
    ".pdmodel",
    ".caffemodel",
    ".weights",
    ".bin",
    ".pdiparams",
)

# Format-specific damage by suffix, in addition to damaged bytes.
STRUCTURES: Mapping[str, damage.Damage] = {
    "net.onnx": damage.of_protobuf,
    "net.tflite": damage.of_words,
    "net.prototxt": damage.of_text,
    "net.caffemodel": damage.of_protobuf,
    "net.cfg": damage.of_text,
    "net.param": damage.of_text,
    "net.pnnx.param": damage.of_text,
    "net.pnnx.bin": damage.of_zip,
    "net.pdmodel": damage.of_protobuf,
}


@pytest.mark.parametrize("format", sources.FORMATS)
def test_the_files_to_damage_are_a_model(format: str, tmp_path: Path) -> None:
    importers.load(sources.models(format)[sources.NETWORK](tmp_path))


@pytest.mark.parametrize("format", sources.FORMATS)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_are_a_model_or_an_error_of_ours(
    format: str, data: st.DataObject, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    models = sources.models(format)
    # Half of the cases damage the network, in which a damaged operator has neighbors.
    name = data.draw(st.just(sources.NETWORK) | st.sampled_from(sorted(models)))
    damage.empty(tmp_path)
    path = models[name](tmp_path)
    damage.one_of(data, tmp_path, STRUCTURES)
    with damage.handled(tmp_path, pytestconfig, format):
        importers.load(path)


def test_files_that_once_broke_an_importer_are_handled(tmp_path: Path) -> None:
    for folder in damage.findings("sources", tmp_path):
        path = min(folder.iterdir(), key=lambda file: MAIN.index(file.suffix))
        with damage.limited(), contextlib.suppress(TrimtabError):
            importers.load(path)


def test_every_format_is_damaged() -> None:
    # tests/modelfile, tests/engine and the fuzz targets cover damaged .ttm files.
    assert {*sources.FORMATS, "ttm"} == set(importers.importers())


@pytest.mark.parametrize("place", ["/dev/null", "/dev/zero"])
@pytest.mark.parametrize("format", sources.FORMATS)
def test_a_device_in_place_of_a_file_is_refused(format: str, place: str, tmp_path: Path) -> None:
    path = sources.models(format)[sources.NETWORK](tmp_path)
    for file in some(sorted(tmp_path.iterdir())):
        content = file.read_bytes()
        file.unlink()
        file.symlink_to(place)
        refused = pytest.raises(ModelFileError, match=r"regular file|a pipe or a device")
        with damage.limited(), refused:
            importers.load(path)
        file.unlink()
        file.write_bytes(content)
