"""The closed list of causes a finding may name, and the fields every page about one starts from.

A cause is listed when an analysis can report it; docs/reference/causes has its page.
"""

from dataclasses import dataclass

Severity = str
SEVERITIES = CRITICAL, WARNING, INFO = "critical", "warning", "info"

# Shares of the judged time from which a finding has this severity. Healthy captures that were looked at idle
# below 1 %, the smallest loss worth a line was 2.8 %: under 2 % nothing is said.
WARNING_FLOOR = 0.05
SEVERITY_FLOORS: tuple[tuple[float, Severity], ...] = ((0.20, CRITICAL), (WARNING_FLOOR, WARNING), (0.02, INFO))


@dataclass(frozen=True, slots=True)
class Cause:
    """One way to lose time, said in a sentence."""

    name: str
    summary: str


CAUSES: tuple[Cause, ...] = (
    Cause("host-bound", "The device waits while the host runs Python or operators before the next launch."),
    Cause("data-loading", "The device waits while the host fetches or prepares the next batch."),
    Cause("warm-up", "The device waits while the host compiles, tunes, captures a graph or loads code."),
    Cause("allocator-churn", "The device waits while the host is inside the driver's allocate or free call."),
    Cause("small-batch", "Steps carry so few tokens that the host's work for a step outlasts the device's."),
    Cause("launch-bound", "The device waits inside launch calls, or for the launched work to start."),
    Cause("small-kernels", "The typical kernel is shorter than what its launch costs."),
    Cause("sync-stall", "The host blocks until the device has drained, so the device idles when it returns."),
    Cause("dependency-wait", "Launched work waits on the device for an event, another stream or a peer."),
    Cause("untraced-work", "The device waits for, or does, something the profiler did not record."),
    Cause("starved", "No request was runnable: the server had nothing to do."),
    Cause("exposed-communication", "Collectives run while no compute kernel does."),
    Cause("straggler", "Ranks wait inside collectives for one that arrives late."),
    Cause("exposed-copy", "Copies over a bus run while no kernel does."),
    Cause("graph-fallback", "Some steps run without the graph that launches the others."),
    Cause("no-tensor-cores", "Matrix work runs on plain cores although the device has tensor cores."),
    Cause("small-grid", "Long kernels have too few blocks to fill the device, or few in their last wave."),
    Cause("low-occupancy", "Long kernels leave too few warps on each SM to hide the latency of memory."),
    Cause("trace-integrity", "The trace contradicts itself, or part of it could not be read."),
)

CAUSE_NAMES: tuple[str, ...] = tuple(cause.name for cause in CAUSES)


def severity(lost_fraction: float) -> Severity | None:
    """Severity of a loss; None below the floor, where nothing is said."""
    return next((name for floor, name in SEVERITY_FLOORS if lost_fraction >= floor), None)
