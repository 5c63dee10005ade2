"""The header that decodes JPEG and PNG files."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.build import picture_decoder
from trimtab.errors import MissingRequirementError


def test_a_missing_decoder_is_named_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = tmp_path / "stb_image.h"
    monkeypatch.setattr(picture_decoder, "HEADER", header)
    with pytest.raises(MissingRequirementError, match="JPEG and PNG") as caught:
        picture_decoder.folder()
    assert "libstb-dev" in str(caught.value)
    header.touch()
    assert picture_decoder.folder() == tmp_path
