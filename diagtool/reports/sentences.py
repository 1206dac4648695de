"""The verdict in one or two sentences that a manager understands, shared by every report for people."""

from diagtool.diagnosis import Diagnosis, Finding
from diagtool.units import duration_text, percent_text


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
        "latency": f"{idle}, most of it while launched work waits to start.",
        "queueing": f"{idle} because no request was runnable.",
    }
    first = sentences.get(bound.resource, f"{device} busy {percent_text(busy)} of the window.")
    if bound.resource == "unknown" and bound.reason.startswith("the device is idle"):
        first = f"{idle}, and the trace does not show why."
    if bound.resource == "host" and window.judged_outside_s > window.seconds:
        first = (
            f"{device} busy {percent_text(busy)} of the window of {duration_text(window.seconds)}, but the steps "
            f"spend another {duration_text(window.judged_outside_s)} on the host outside it."
        )
    costliest = next((f for f in diagnosis.findings if f.lost_s), None)
    if costliest is None:
        return [first]
    where = f" on {place(costliest)}" if many else ""
    share = percent_text(costliest.lost_fraction)
    return [first, f"Costliest: {costliest.cause}, {duration_text(costliest.lost_s)} ({share}){where}."]


def place(finding: Finding) -> str:
    """The device a finding is about, as words."""
    rank, device = finding.where.get("rank"), finding.where.get("device")
    return f"rank {rank}" if device in (0, rank, None) else f"rank {rank}, device {device}"
