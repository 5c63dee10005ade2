"""Reports of the runs in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.fakes import write_record
from trimtab.errors import UsageError
from trimtab.reports import rendering


@pytest.mark.parametrize("form", ["terminal", "html"])
def test_an_overview_has_the_runs_of_a_folder_or_says_that_there_are_none(
    form: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="no runs in "):
        rendering.render_overview(tmp_path, form)
    for profile in ("full", "tiny"):
        write_record(tmp_path, profile=profile)
    text = rendering.render_overview(tmp_path, form)
    assert "full" in text
    assert "tiny" in text
