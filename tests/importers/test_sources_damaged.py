"""Damaged files of every format: each is imported, or causes an error of trimtab.

`./inv fuzz --target sources` runs this test with other damage each time, and stores minimized
failures in tests/fuzz/found/sources.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.importers import damage, sources
from tests.some import some
from trimtab import importers
from trimtab.errors import ModelFileError, TrimtabError

STRUCTURES = {name: of for one in sources.FORMATS.values() for name, of in one.structures.items()}

# The suffixes of the files to load, then those of their companions.
SUFFIXES = [importers.importer(name).SUFFIXES for name in sources.FORMATS]
MAIN = [suffixes[place] for place in (0, 1) for suffixes in SUFFIXES if len(suffixes) > place]


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
        importers.load(path).save(tmp_path / "net.ttm")


def test_files_that_once_broke_an_importer_are_handled(tmp_path: Path) -> None:
    for folder in damage.findings("sources", tmp_path):
        path = min(folder.iterdir(), key=lambda file: MAIN.index(file.name[file.name.index(".") :]))
        with damage.limited(), contextlib.suppress(TrimtabError):
            importers.load(path)


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
