"""The diagnosis as JSON, as diagnosis.schema.json describes it."""

from typing import TYPE_CHECKING, TextIO

from diagtool.diagnosis import Diagnosis, to_json

if TYPE_CHECKING:
    from diagtool.timeline import Timeline


def render(diagnosis: Diagnosis, out: TextIO, timeline: "Timeline | None" = None) -> None:
    """Write the public JSON."""
    encoding = (getattr(out, "encoding", None) or "utf-8").lower().replace("-", "")
    out.write(to_json(diagnosis, ascii_only=encoding != "utf8") + "\n")
