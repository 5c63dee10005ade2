"""The data that the scripts of an HTML page draw."""

from __future__ import annotations

import base64
import gzip
import re


def page_data(page: str) -> list[str]:
    """The JSON texts of a page's charts: one, or none without charts."""
    packed = re.findall(r'<script type="text/plain" id="data">([^<]*)</script>', page)
    texts = [base64.b85decode(text.replace(",", "<")) for text in packed]
    return [gzip.decompress(text).decode() for text in texts]
