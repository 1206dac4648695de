"""What every report for people says in words: the verdict, what was looked at, what is not known."""

from collections.abc import Callable, Iterator
from pathlib import PurePath

from diagtool.diagnosis import Diagnosis, Finding, Result
from diagtool.units import count_text, duration_text, listing, percent_text, plural, printable

Shorten = Callable[[str], str]

_LEAST_UNKNOWN = 0.005
# How the reason of a bound reads where the model's shapes gave it.
_AT_ROOF = "of their roof"
_NAMED_CLASSES = 5
# Ranks of one run have windows of about the same length.
_ALIKE = 10
_SECONDS_PER_HOUR = 3600


def verdict(diagnosis: Diagnosis) -> list[str]:
    """One sentence on what sets the pace, and a second where there is more to say."""
    window, bound = diagnosis.window, diagnosis.bound_by
    if window is None:
        return [
            "No verdict: the input holds no device events.",
            "Nothing can be said about the device; see Not known.",
        ]
    if not window.seconds:
        return ["No verdict: the device events have no length.", "A share of nothing is not a figure."]
    busy = diagnosis.mean("device.busy_fraction")
    many = len(diagnosis.devices) > 1
    device, it = ("The devices are", "them") if many else ("The device is", "it")
    idle = f"{device} idle {percent_text(1 - busy)} of the window"
    if diagnosis.healthy:
        words = ", as far as the trace can be believed" if diagnosis.doubted else ": healthy"
        return [f"{device} busy {percent_text(busy)} of the window and nothing costs 5 % of it{words}."]
    share = percent_text(bound.share)
    sentences = {
        "host": f"{idle}: the host cannot feed {it}.",
        "communication": f"Communication sets the pace: for {share} of the time nothing else runs.",
        "copy": f"Copies set the pace: for {share} of the time nothing else runs.",
        "memory-bandwidth": f"Device-to-device copies and sets take {share} of the time.",
        "compute": f"Arithmetic sets the pace for {share} of the time: {bound.reason}.",
        "latency": f"{idle}, most of it while launched work waits to start.",
        "queueing": f"{idle} because no request was runnable.",
    }
    first = sentences.get(bound.resource, f"{device} busy {percent_text(busy)} of the window.")
    if bound.resource == "memory-bandwidth" and _AT_ROOF in bound.reason:
        first = f"Memory bandwidth sets the pace for {share} of the time: {bound.reason}."
    if bound.resource == "unknown" and bound.reason.startswith("the device is idle"):
        first = f"{idle}, and the trace does not show why."
    if bound.resource == "host" and window.judged_outside_s > window.seconds:
        first = (
            f"{device} busy {percent_text(busy)} of the window of {duration_text(window.seconds)}, but the steps "
            f"spend another {duration_text(window.judged_outside_s)} on the host outside it."
        )
    if bound.resource == "unknown" and (without := _busy_without_gap(diagnosis)):
        first = f"{idle}, most of it in one gap that the trace does not explain; {without} busy without it."
    costliest = next((f for f in diagnosis.findings if f.lost_s), None)
    if costliest is None:
        return [first]
    where = f" on {place(costliest)}" if many else ""
    if costliest.cause == "straggler":
        where = f", waiting for {place(costliest)}"
    share = percent_text(costliest.lost_fraction)
    doubt = (
        "; Python calls were recorded, which makes it look worse than it is" if _slowed(diagnosis, costliest) else ""
    )
    return [first, f"Costliest: {costliest.cause}, {duration_text(costliest.lost_s)} ({share}){where}{doubt}."]


def _busy_without_gap(diagnosis: Diagnosis) -> str:
    """How busy the device is beside its one unexplained gap, where that gap is the costliest finding."""
    first = diagnosis.findings[0] if diagnosis.findings else None
    if first is None or first.cause != "untraced-work" or len(diagnosis.devices) > 1:
        return ""
    found = (item.value for item in first.evidence if item.of == "the window without the gap")
    value = next(found, None)
    return percent_text(value) if isinstance(value, (int, float)) else ""


def _slowed(diagnosis: Diagnosis, finding: Finding) -> bool:
    """Whether what was recorded of Python is part of what a finding about the host says."""
    noted = any(one.cause == "trace-integrity" and one.title.startswith("Python calls") for one in diagnosis.findings)
    return finding.cause == "host-bound" and noted


def pace(diagnosis: Diagnosis, *, reasons: bool = True) -> str:
    """What sets the pace, with its share and the runner-up; empty without a window."""
    bound = diagnosis.bound_by
    if diagnosis.window is None or bound.share is None:
        return ""
    texts = [
        f"{one.resource} {percent_text(one.share)}{f' ({one.reason})' if one.reason and reasons else ''}"
        for one in (bound, bound.next)
        if one is not None
    ]
    return f"Sets the pace: {', then '.join(texts)}."


def unrelated(diagnosis: Diagnosis) -> str:
    """A warning where the files look like different runs, whose common figures say little."""
    lengths = [metric.value for metric in diagnosis.metrics("window.length_s") if metric.value]
    names = {device.name for device in diagnosis.devices}
    if len(lengths) < 2 or (max(lengths) <= _ALIKE * min(lengths) and len(names) == 1):
        return ""
    kinds = f" on {plural(len(names), 'kind')} of device" if len(names) > 1 else ""
    return (
        f"The files look like different runs: windows from {duration_text(min(lengths))} to "
        f"{duration_text(max(lengths))}{kinds}. Diagnose them one by one."
    )


def modelled(diagnosis: Diagnosis) -> list[str]:
    """Why a roofline that was asked for has no figure."""
    reasons = {one.reason for one in diagnosis.metrics("roofline.fraction") if one.value is None}
    result = diagnosis.result("roofline")
    if result is not None and result.skipped and "give --model" not in result.skipped:
        reasons.add(result.skipped)
    return [f"roofline: {reason}." for reason in sorted(reasons)]


def place(finding: Finding) -> str:
    """The device a finding is about, as words."""
    rank, device = finding.where.get("rank"), finding.where.get("device")
    return f"rank {rank}" if device in (0, rank, None) else f"rank {rank}, device {device}"


def looked_at(diagnosis: Diagnosis, short: Shorten = printable) -> list[str]:
    """What the report is about, in a few words each: devices, files, events, window. ``short`` cuts a name."""
    names = [short(name) for name in dict.fromkeys(device.name or "unnamed device" for device in diagnosis.devices)]
    files = [PurePath(file).name for file in diagnosis.source.files]
    parts = [listing(names, 2) if names else "no device"]
    if len(diagnosis.devices) > 1:
        parts[0] += f" x {len(diagnosis.devices)}"
    parts.append(short(files[0]) if len(files) == 1 else plural(len(files), "file"))
    events = diagnosis.environment.get("events")
    if isinstance(events, int):
        parts.append(plural(events, "event"))
    if diagnosis.window is not None:
        mean = "mean window" if len(diagnosis.devices) > 1 else "window"
        parts.append(f"{mean} {duration_text(diagnosis.window.seconds)}")
    return parts


def asks_for_something(diagnosis: Diagnosis) -> bool:
    """Whether there is something to do: a healthy input that can be believed says so and stops."""
    return bool(diagnosis.findings) and (not diagnosis.healthy or diagnosis.doubted)


def filled(diagnosis: Diagnosis) -> str:
    """How much of the device the kernels of the only device fill."""
    utilization, occupancy = (
        diagnosis.metrics(name)[0] for name in ("sm.utilization_fraction", "occupancy.theoretical_fraction")
    )
    known = [
        f"SM utilization {percent_text(utilization.value)} ({utilization.method})"
        if utilization.value is not None
        else "",
        f"occupancy {percent_text(occupancy.value)} (theoretical)" if occupancy.value is not None else "",
    ]
    return ", ".join(text for text in known if text) or f"SM utilization unknown ({utilization.reason})"


def kernel_classes(diagnosis: Diagnosis) -> str:
    """Kernel time by class, the largest first, and the share that has none."""
    table = diagnosis.table("kernel_classes")
    if table is None:
        return ""
    shares = [(str(name), float(share or 0)) for name, _, _, share in table.rows if name != "other"]
    named = ", ".join(f"{name} {percent_text(share)}" for name, share in shares[:_NAMED_CLASSES])
    unclassified = next((float(row[3] or 0) for row in table.rows if row[0] == "other"), 0.0)
    return f"by class: {named}{'; ' if named else ''}unclassified {percent_text(unclassified)}"


def steps(diagnosis: Diagnosis) -> Iterator[str]:
    """How many steps there are, how long they take, and what that is in tokens."""
    counts = [int(metric.value or 0) for metric in diagnosis.metrics("steps.count")]
    if not any(counts):
        return
    lasting = [metric.value for metric in diagnosis.metrics("steps.duration_p50_s") if metric.value is not None]
    devices, longest = (f" on each of {len(counts)} devices", "up to ") if len(counts) > 1 else ("", "")
    text = f"{plural(max(counts), 'step')}{devices}, median {longest}{duration_text(max(lasting, default=None))}"
    rates = [metric.value for metric in diagnosis.metrics("steps.tokens_per_s") if metric.value]
    if len(rates) == len(counts):
        text += f"; {count_text(round(sum(rates) / len(rates)))} tokens/s"
        costs = [metric.value for metric in diagnosis.metrics("steps.device_s_per_token") if metric.value]
        if len(costs) == len(counts):
            text += f", {sum(costs) / len(costs) * 1e6 / _SECONDS_PER_HOUR:.3g} device-hours per million"
    yield text


def outside_window(diagnosis: Diagnosis) -> list[str]:
    """The step time outside the device window, where it counts."""
    window = diagnosis.window
    if window is None or not window.judged_outside_s:
        return []
    return [
        f"outside the device window: {duration_text(window.judged_outside_s)} of the steps, counted in the findings"
    ]


def losses(diagnosis: Diagnosis, short: Shorten = printable) -> Iterator[str]:
    """What of the input did not reach the timeline."""
    for loss in diagnosis.source.lost:
        yield f"{count_text(loss.count)} x {loss.what}{f' ({short(loss.detail)})' if loss.detail else ''}."


def notes(diagnosis: Diagnosis) -> Iterator[str]:
    """What was done on reading, and to which window shares refer where that is not the one asked for."""
    for note in diagnosis.source.notes:
        yield f"{note}."
    if diagnosis.window is not None and "no step marks" in diagnosis.window.note:
        yield f"Window: {diagnosis.window.note}."


def unknown(diagnosis: Diagnosis) -> Iterator[str]:
    """What could not be answered, and why."""
    reasons: dict[str, list[str]] = {}
    for result in diagnosis.results:
        if result.skipped and _worth_saying(result, diagnosis):
            reasons.setdefault(result.skipped, []).append(result.analysis)
    for reason, names in reasons.items():
        yield f"{listing(names)}: {reason}."
    bound, window = diagnosis.bound_by, diagnosis.window
    if window is None:
        return
    if bound.resource == "unknown" and bound.reason:
        yield f"{bound.reason[0].upper()}{bound.reason[1:]}."
    unseen = window.outside_s - window.judged_outside_s
    if unseen > 0 and len({device.rank for device in diagnosis.devices}) == len(diagnosis.devices):
        yield (
            f"{duration_text(unseen)} of the steps lie outside the device window; whether the device worked then was "
            "not recorded."
        )
    unmatched = diagnosis.mean("idle.unknown_fraction")
    if unmatched >= _LEAST_UNKNOWN:
        yield (
            f"{percent_text(unmatched)} of the window is idle before work whose launch is not in the trace: it cannot "
            "be given a cause."
        )


def _worth_saying(result: Result, diagnosis: Diagnosis) -> bool:
    """Whether the reader can do something about an analysis that was skipped: a roofline needs steps of tokens."""
    tokens = any(metric.value is not None for metric in diagnosis.metrics("steps.tokens_per_s"))
    return result.analysis != "roofline" or tokens


def without_value(diagnosis: Diagnosis) -> Iterator[str]:
    """The metrics that have no value, by reason."""
    reasons: dict[str, list[str]] = {}
    for one in (metric for result in diagnosis.results for metric in result.metrics):
        if one.value is None:
            reasons.setdefault(one.reason, []).append(one.name)
    for reason, names in reasons.items():
        yield f"{listing(list(dict.fromkeys(names)), 6)}: {reason}."
