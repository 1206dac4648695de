"""The comparison as JSON: ``schema: 1``, base units, null for what is not known or not comparable."""

import json
from typing import TextIO

from diagtool.comparison import Comparison, comparison_to_dict


def render(comparison: Comparison, out: TextIO, timeline: object = None) -> None:
    """Write the public JSON."""
    encoding = (getattr(out, "encoding", None) or "utf-8").lower().replace("-", "")
    data = comparison_to_dict(comparison)
    out.write(json.dumps(data, indent=1, ensure_ascii=encoding != "utf8", allow_nan=False) + "\n")
