"""Operators that older versions had: their ids stay theirs, so that a model file that uses one is
refused by its name.
"""

from __future__ import annotations

RETIRED = {
    215: "free_reshape",
    216: "free_crop",
    217: "free_resize",
    233: "computed_reshape",
    234: "computed_expand",
    236: "computed_top_k",
    241: "scatter_elements",
    243: "computed_slice",
    261: "scatter",
}
