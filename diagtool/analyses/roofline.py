"""How near are attention and the linear layers to what the device can do? From the model's shapes and the step marks.

Work and traffic are modelled, definitions.md "Bandwidth, compute density, roofline": with N_Q new tokens and N_KV
context per request, attention does 2 * q_heads * (d_qk + d_v) * sum(N_Q * N_KV) operations per layer, causal prefill
q_heads * (d_qk + d_v) * sum(N_Q^2) fewer, and reads the keys and values of every context. Linear layers read their
weights once a step and do 2 operations per weight and token. Time is that of the kernels of the class.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diagtool.context import Context, DeviceWindow
from diagtool.device_work import kernel_classes
from diagtool.diagnosis import Column, Metric, Result, Scalar, Table, metric
from diagtool.engine_steps import NO_STEP, main_steps, step_of_work
from diagtool.hardware.peaks import Peaks
from diagtool.model_shapes import ModelShapes
from diagtool.timeline import Timeline
from diagtool.units import seconds

# Kernels of experts over this share of the linear layers' time are no accident.
_EXPERTS_SHARE = 0.1
PARTS: Mapping[str, tuple[str, ...]] = {"attention": ("attention",), "linear": ("GEMM", "MoE")}
_PEAK_OF = {
    "float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float8": "fp8", "fp8": "fp8", "int8": "int8",
    "int4": "fp16",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Point:
    """One part of the model on one device over some steps: modelled work and traffic, measured time."""

    window: DeviceWindow
    part: str
    steps: int
    flops: float
    bytes: float
    time_s: float
    dtype: str
    peak_flops: float | None
    peaks: Peaks
    misfit: str

    @property
    def roofline_s(self) -> float | None:
        """max(FLOPs / peak, bytes / bandwidth); None where a peak is not known."""
        if self.peak_flops is None or self.peaks.bandwidth is None:
            return None
        return max(self.flops / self.peak_flops, self.bytes / self.peaks.bandwidth)

    @property
    def fraction(self) -> float | None:
        """Roofline time / measured time."""
        return None if self.roofline_s is None or not self.time_s else self.roofline_s / self.time_s

    @property
    def limit(self) -> str | None:
        """Which roof is the lower one: memory-bandwidth or compute."""
        if self.peak_flops is None or self.peaks.bandwidth is None:
            return None
        memory = self.bytes / self.peaks.bandwidth >= self.flops / self.peak_flops
        return "memory-bandwidth" if memory else "compute"

    @property
    def withheld(self) -> str:
        """Why the fraction would mislead, or empty: another model, bytes that fit the cache, more than is possible."""
        if self.misfit:
            return self.misfit
        if self.peaks.cache_bytes is not None and self.bytes / self.steps < self.peaks.cache_bytes:
            return "not-applicable: a step's bytes fit the last-level cache"
        if self.fraction is not None and self.fraction > 1:
            return "undefined: more than the device can do, so the trace is not of this model"
        return ""


def run(timeline: Timeline, context: Context) -> Result:
    """Metrics per device and a table of the parts; skipped without a model, a known device or tokens."""
    model = context.scope.model
    if model is None:
        return Result("roofline", skipped="the model's shapes are not known: give --model")
    reasons: list[str] = []
    points = [point for window in context.windows for point in _points(timeline, context, window, model, reasons)]
    if not points:
        return Result("roofline", skipped="; ".join(dict.fromkeys(reasons)) or "no step launched recorded kernels")
    return Result(
        "roofline",
        metrics=tuple(m for point in points for m in _metrics(point)),
        tables=(_table(points),),
    )


def _points(
    timeline: Timeline, context: Context, window: DeviceWindow, model: ModelShapes, reasons: list[str]
) -> list[Point]:
    device = context.device_of(timeline, window)
    peaks = context.peaks_of(device)
    if peaks is None:
        name = device.name or "the unnamed device"
        reasons.append(f"the peaks of {name} are not known: give --peak bandwidth=BYTES_PER_S,bf16=FLOP_PER_S")
        return []
    marks = main_steps(timeline.steps.loc[timeline.steps["rank"] == window.rank])
    columns = [
        f"{phase}_{name}" for phase in ("prefill", "decode") for name in ("sum_q", "sum_kv", "sum_q_kv", "sum_q2")
    ]
    sums = marks[columns].to_numpy(dtype=np.float64, na_value=np.nan)
    known = np.isfinite(sums).all(axis=1) & (sums[:, [0, 4]].sum(axis=1) > 0)
    if not len(marks):
        reasons.append("no step marks")
        return []
    if not known.any():
        reasons.append("the step marks do not state the sums of tokens and contexts")
        return []
    # All work of the steps, past the window's end too: the model's figures are of whole steps.
    mine_alone = (timeline.device["rank"] == window.rank) & (timeline.device["device"] == window.device)
    rows = np.flatnonzero((mine_alone & (timeline.device["kind"] == "kernel")).to_numpy())
    position = step_of_work(timeline, context.launches, marks, rows)
    mine = (position != NO_STEP) & known[np.maximum(position, 0)]
    with_work = np.unique(position[mine])
    sums, running = sums[with_work], marks["running"].to_numpy(dtype=np.float64, na_value=np.nan)[with_work]
    work = {"attention": _attention(model, sums), "linear": _linear(model, sums, running)}
    spent = _time_by_part(timeline, rows[mine], PARTS)
    experts_ns = _time_by_part(timeline, rows[mine], {"experts": ("MoE",)})["experts"]
    misfit = _misfit(model, spent, experts_ns)
    # Attention computes in the type of the KV cache, whatever the weights are stored in.
    types = {"attention": _PEAK_OF[model.kv_dtype], "linear": _PEAK_OF[model.dtype]}
    return [
        Point(
            window,
            part,
            len(with_work),
            *work[part],
            seconds(ns),
            types[part],
            peaks.flops.get(types[part]),
            peaks,
            misfit,
        )
        for part, ns in spent.items()
        if ns
    ]


def _misfit(model: ModelShapes, spent: Mapping[str, int], experts_ns: int) -> str:
    """Why the kernels cannot be those of the model, or empty: it has experts and they have none, or the reverse."""
    if not model.experts and experts_ns > _EXPERTS_SHARE * spent["linear"]:
        return "undefined: kernels of experts ran, and the model has none"
    if model.experts and not experts_ns:
        return "undefined: the model has experts, and no kernel of theirs ran"
    return ""


def _time_by_part(timeline: Timeline, rows: NDArray[np.int64], parts: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """Time of the kernels of some classes."""
    of_row = kernel_classes(timeline.device)[rows]
    lengths = (timeline.device["end_ns"].to_numpy() - timeline.device["start_ns"].to_numpy())[rows]
    return {part: int(lengths[np.isin(of_row, kinds)].sum()) for part, kinds in parts.items()}


def _attention(model: ModelShapes, sums: NDArray[np.float64]) -> tuple[float, float]:
    """FLOPs and bytes of one rank's share of attention over some steps; ``sums`` a line per step."""
    q, kv, q_kv, q2 = sums[:, :4].sum(axis=0)
    decode_q, decode_kv, decode_q_kv, _ = sums[:, 4:].sum(axis=0)
    heads = model.layers * model.q_heads * 2 * model.head_dim
    flops = 2 * heads * (q_kv + decode_q_kv) - heads * q2
    queries_and_outputs = 2 * (q + decode_q) * model.layers * model.q_heads * model.head_dim * model.kv_element_bytes
    traffic = (kv + decode_kv) * model.kv_bytes_per_token + queries_and_outputs
    return float(flops) / model.tensor_parallel, float(traffic) / model.tensor_parallel


def _linear(model: ModelShapes, sums: NDArray[np.float64], requests: NDArray[np.float64]) -> tuple[float, float]:
    """FLOPs and bytes of one rank's share of the projections, feed-forward layers and output head.

    The output head runs once per request of a step. Bytes are those of the weights and of the activations between
    the layers.
    """
    tokens = sums[:, 0] + sums[:, 4]
    sampled = np.where(np.isfinite(requests), requests, tokens)
    head = model.vocabulary * model.hidden
    flops = 2 * (tokens.sum() * (model.attention_weights + model.ffn_weights_per_token) + sampled.sum() * head)
    weights = sum(model.attention_weights + model.ffn_weights(int(n)) + head for n in tokens)
    width = model.ffn_weights_per_token / model.layers / model.hidden + 4 * model.hidden
    activations = tokens.sum() * model.layers * width
    traffic = weights * model.element_bytes + activations * model.kv_element_bytes
    return float(flops) / model.tensor_parallel, float(traffic) / model.tensor_parallel


def _metrics(point: Point) -> list[Metric]:
    labels = {**point.window.labels, "part": point.part}
    no_peak = "" if point.fraction is not None else "missing: a peak of the device is not known: give --peak"
    figures = {
        "roofline.fraction": (point.fraction, point.withheld or no_peak),
        "roofline.bandwidth": (point.bytes / point.time_s, point.withheld),
        "roofline.flops": (point.flops / point.time_s, ""),
        "roofline.density": (point.flops / point.bytes, ""),
    }
    return [
        metric(name, None if reason else value, labels, method="modelled", reason=reason)
        for name, (value, reason) in figures.items()
    ]


def _table(points: Sequence[Point]) -> Table:
    rows: list[tuple[Scalar, ...]] = [
        (
            point.window.rank, point.window.device, point.part, point.time_s,
            None if point.withheld else point.roofline_s, None if point.withheld else point.fraction,
            None if point.misfit else point.limit, point.flops / point.bytes, point.flops / point.time_s,
            None if point.withheld else point.bytes / point.time_s, point.peak_flops, point.peaks.bandwidth,
            point.peaks.origin_of(point.dtype) if point.peak_flops else None,
            point.peaks.origin_of("bandwidth") if point.peaks.bandwidth else None,
        )
        for point in points
    ]  # fmt: skip
    columns = (
        Column("rank"), Column("device"), Column("part"), Column("time", "s"), Column("at the roof", "s"),
        Column("fraction", "fraction"), Column("roof"), Column("density", "flops/byte"), Column("achieved", "flops/s"),
        Column("bandwidth", "bytes/s"), Column("peak", "flops/s"), Column("peak bandwidth", "bytes/s"),
        Column("peak from"), Column("bandwidth from"),
    )  # fmt: skip
    return Table("roofline", "Roofline of attention and linear layers (modelled)", columns, tuple(rows))
