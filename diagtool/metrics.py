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
# What a device does at each instant, and what an idle one waits for, in the order in which reports show them.
TIME_CLASSES = ("compute", "communication", "copy", "idle")
IDLE_CLASSES = ("host", "launch", "sync", "queue", "graph", "starved", "unknown")
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
    _spec("sm.utilization_fraction", "fraction", "higher",
          "Share of the SMs that hold a block, averaged over the window. Estimated from the launches as the mean of "
          "min(1, sum over the running kernels of blocks / SMs); where counters measured it the method says so."),
    _spec("occupancy.theoretical_fraction", "fraction", None,
          "Warps that fit on an SM at once, as a share of the most it holds, from registers, shared memory, threads "
          "and compute capability: mean over kernel time, of the kernels whose launch is in the trace."),
    _spec("occupancy.grid_limited_fraction", "fraction", None,
          "The same with no more blocks per SM than the grid has for each: blocks / SMs where that is less."),
    _spec("kernels.count", "count", None, "Kernels in the window."),
    _spec("kernels.unclassified_fraction", "fraction", "lower",
          "Share of the kernel time in kernels whose name tells no class."),
    _spec("communication.exposed_fraction", "fraction", "lower",
          "Share of the window in which collectives run and no other kernel does: time.communication_fraction by the "
          "name it has in communication."),
    _spec("communication.overlap_fraction", "fraction", "higher",
          "Share of the time in which collectives run that another kernel runs too."),
    _spec("communication.kernel_time_fraction", "fraction", None,
          "Collectives' share of the summed kernel time; kernels side by side count each."),
    _spec("communication.waiting_fraction", "fraction", "lower",
          "Share of the time in which collectives run that this rank waited for the last one to arrive: duration - "
          "shortest duration of the same collective on any rank."),
    _spec("copy.rate", "bytes/s", "higher", "Bytes of the copies of one kind over their summed time."),
    _spec("graph.launches", "count", None, "Graph launches: those with recorded kernels on the device and those "
          "of its rank without any."),
    _spec("graph.launches_unrecorded", "count", "lower", "Graph launches of the rank of which no node was recorded."),
    _spec("graph.kernel_time_fraction", "fraction", None, "Share of the kernel time in kernels that a graph launched."),
    _spec("graph.kernels_per_launch_p50", "count", None, "Median number of recorded kernels of a graph launch."),
    _spec("steps.count", "count", None,
          "Steps that the trace marks; where a server's own marks lie inside a profiler's the server's count."),
    _spec("steps.duration_p50_s", "s", "lower",
          "Median duration of a step: the longer of its mark and of the span of the device work launched inside it."),
    _spec("steps.busy_p50_fraction", "fraction", "higher",
          "Median share of a step's duration in which the device works on what the step launched."),
    _spec("steps.outliers", "count", "lower", "Steps over 1.5 times as long as the median of their phase."),
    _spec("steps.tokens_per_s", "tokens/s", "higher",
          "New tokens of all steps, prompt and output, over the summed duration of the steps."),
    _spec("roofline.fraction", "fraction", "higher",
          "Roofline time / measured time of a part of the model, attention or linear layers: "
          "max(FLOPs / peak, bytes / peak bandwidth) over the time of its kernels."),
    _spec("roofline.bandwidth", "bytes/s", "higher",
          "Modelled bytes of a part of the model / the time of its kernels."),
    _spec("roofline.flops", "flops/s", "higher", "Modelled FLOPs of a part of the model / the time of its kernels."),
    _spec("roofline.density", "flops/byte", None, "Modelled FLOPs / modelled bytes: compute density."),
    _spec("steps.device_s_per_token", "s", "lower",
          "Device time that a new token costs: devices that share the model / steps.tokens_per_s. Unknown where "
          "collectives run and --model does not say how many devices share it."),
    _spec("start_up.time_s", "s", "lower",
          "Time in which some thread of the rank compiled, tuned, loaded code or instantiated a graph."),
    _spec("start_up.compiling_steps", "count", "lower", "Steps in which something was compiled."),
    _spec("trace.lost_events", "count", "lower", "Events of the files that could not be read."),
    _spec("trace.impossible_events", "count", "lower",
          "Events that were read but cannot be true, and are left out of every other figure."),
    _spec("trace.launched_before_fraction", "fraction", None,
          "Share of the device's busy time in events whose launch the trace does not hold: it came before the "
          "recording began, or was not recorded."),
)  # fmt: skip

METRICS: dict[str, MetricSpec] = {spec.name: spec for spec in _SPECS}
