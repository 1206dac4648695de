"""The registry of metrics: name, unit, direction and definition of every figure in a diagnosis.

The reference page of metrics is generated from it. A definition id changes when the meaning does, and values with
different ids do not compare.
"""

from dataclasses import dataclass

Better = str | None

UNITS = (
    "s",
    "bytes",
    "bytes/s",
    "flops",
    "flops/s",
    "flops/byte",
    "fraction",
    "count",
    "count/s",
    "tokens/s",
    "score",
)
METHODS = ("measured", "estimated", "modelled", "given")


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """What a metric means. ``better`` is lower, higher or None where neither end is good in itself."""

    name: str
    unit: str
    better: Better
    definition: str
    meaning: str


def _spec(name: str, unit: str, better: Better, meaning: str, version: int = 1) -> MetricSpec:
    return MetricSpec(name, unit, better, f"{name}/{version}", meaning)


_SPECS: tuple[MetricSpec, ...] = (
    _spec("device.busy_fraction", "fraction", "higher",
          "Length of the union of all device events (kernels, copies, sets), as a share of the window."),
    _spec("kernel.idle_fraction", "fraction", "lower",
          "1 - length of the union of the kernels, as a share of the window: the kernel idle rate."),
    _spec("time.compute_fraction", "fraction", "higher",
          "Share of the window in which a kernel that is not a collective runs."),
    _spec("time.communication_fraction", "fraction", "lower",
          "Share of the window in which collectives run and no other kernel does: exposed communication."),
    _spec("time.copy_fraction", "fraction", "lower",
          "Share of the window in which copies or sets run and no kernel does."),
    _spec("copy.exposed_fraction", "fraction", "lower",
          "Share of the window in which copies over a bus (h2d, d2h, peer) run and no kernel does."),
    _spec("time.idle_fraction", "fraction", "lower", "Share of the window in which the device does nothing."),
    _spec("idle.starved_fraction", "fraction", "lower",
          "Idle share of the window in which an engine step mark says that no request was runnable."),
    _spec("idle.sync_fraction", "fraction", "lower",
          "Idle share of the window before the launch, while the launching thread was inside a blocking call."),
    _spec("idle.host_fraction", "fraction", "lower",
          "Idle share of the window before the launch, while the launching thread ran Python or operators."),
    _spec("idle.launch_fraction", "fraction", "lower", "Idle share of the window inside the launch call."),
    _spec("idle.queue_fraction", "fraction", "lower",
          "Idle share of the window after a plain launch returned and before its work started."),
    _spec("idle.untraced_fraction", "fraction", "lower",
          "The part of idle.queue_fraction in single gaps of over 10 % of the window."),
    _spec("idle.graph_fraction", "fraction", "lower",
          "Idle share of the window after a graph launch returned: its start-up, or nodes that were not recorded."),
    _spec("idle.unknown_fraction", "fraction", "lower",
          "Idle share of the window whose end cannot be matched with a launch in the trace."),
    _spec("idle.after_sync_fraction", "fraction", "lower",
          "Share of the window in idle intervals that began while the launching thread was inside a blocking call "
          "and before it launched the work that ended them. It stands beside the split by cause and overlaps it."),
    _spec("window.length_s", "s", None, "Length of the window."),
    _spec("window.outside_s", "s", "lower",
          "Time of the step marks before the first and after the last device event of the window."),
    _spec("launch.gap_p50_s", "s", "lower",
          "Median time from the end of a kernel to the start of the next on its stream; overlaps count as 0."),
    _spec("launch.gap_p95_s", "s", "lower", 
          "95th percentile of the times from the end of a kernel to the start of the next on its stream."),
    _spec("launch.gap_max_s", "s", "lower", 
          "Largest time from the end of a kernel to the start of the next on its stream."),
    _spec("launch.overlaps", "count", None,
          "Kernels that start before the one before them on the same stream has ended."),
    _spec("launch.interval_p50_s", "s", "lower",
          "Median time from the start of one launch call to the start of the next on the same thread."),
    _spec("launch.delay_p50_s", "s", None,
          "Median time from the return of a launch call to the start of its first device event, clipped at 0."),
    _spec("trace.lost_events", "count", "lower", "Events of the files that could not be read."),
    _spec("trace.impossible_events", "count", "lower",
          "Events that were read but cannot be true, and are left out of every other figure."),
    _spec("trace.launched_before_fraction", "fraction", None,
          "Share of the device's busy time in events whose launch the trace does not hold: it came before the "
          "recording began, or was not recorded."),
)  # fmt: skip

METRICS: dict[str, MetricSpec] = {spec.name: spec for spec in _SPECS}
