"""diagtool says why GPU inference is slow: where the time went, the cause, what it costs, what to change.

    import diagtool

    timeline = diagtool.read("trace.json.gz")     # one file, several files or a directory of rank traces
    diagnosis = diagtool.diagnose(timeline)
    diagnosis.bound_by, diagnosis.findings, diagnosis.metric("device.busy_fraction")

The names are loaded on first use, so that ``import diagtool`` costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diagtool.readers import read as read
    from diagtool.run_analyses import diagnose as diagnose

__version__ = "0.1.0"
__all__ = ["__version__", "diagnose", "read"]


def __getattr__(name: str) -> Any:
    if name == "read":
        from diagtool.readers import read

        return read
    if name == "diagnose":
        from diagtool.run_analyses import diagnose

        return diagnose
    raise AttributeError(f"module 'diagtool' has no attribute {name!r}")
