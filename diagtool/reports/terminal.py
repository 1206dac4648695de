"""The report a person reads: what was looked at, one sentence, where the time went, what to do, what is not known.

80 columns, piped or not. Names from a trace are text, never markup, and their control characters do not reach the
terminal.
"""

import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from diagtool.diagnosis import Diagnosis, Evidence, Finding, Table
from diagtool.reports.sentences import place, verdict
from diagtool.units import bytes_text, count_text, duration_text, listing, percent_text, plural, printable

WIDTH = 80
_BAR = 30
_MOST_FINDINGS, _MOST_EVIDENCE = 8, 6
_MOST_ROWS = 8
_MOST_DEVICES = 16
_CLASS_COLUMNS = (("comp.", 5), ("comm.", 5), ("copy", 5), ("idle", 5))
_CAUSE_COLUMNS = (("host", 7), ("launch", 6), ("sync", 5), ("queue", 5), ("other", 5))
_HOST_CAUSES = ("host-bound", "data-loading", "warm-up", "allocator-churn")
_LEAST_UNKNOWN = 0.005
_SEVERITY_STYLE = {"critical": "bold red", "warning": "yellow", "info": "cyan"}
_ADDRESS = re.compile(r" at 0x[0-9a-f]{6,}")
# Between a number and its unit, so that a line does not break there.
_KEEP = "\N{NO-BREAK SPACE}"
_PLAIN = str.maketrans({"·": "-", "…": "~"})


def render(diagnosis: Diagnosis, out: TextIO) -> None:
    """Write the report; in colour where ``out`` is a terminal that wants it."""
    console = Console(file=out, width=None if out.isatty() else WIDTH, highlight=False, markup=False, emoji=False)
    width = max(min(console.width, 100), 40)
    drawing = _can_draw(out)
    for line in _lines(diagnosis, width, drawing):
        console.print(line if drawing else _plain(line, out), soft_wrap=True)


def shown(name: str, width: int) -> str:
    """A name from a trace on one line of at most ``width`` cells, its middle left out where it is longer."""
    text = _ADDRESS.sub("", printable(name))
    if cell_len(text) <= width:
        return text
    if width < 3:
        return set_cell_size(text, width)
    head = (width - 1) * 2 // 3
    tail = text[::-1]
    return f"{set_cell_size(text, head)}…{set_cell_size(tail, width - 1 - head)[::-1]}"


def _plain(line: Text, out: TextIO) -> Text:
    """The line in the characters that ``out`` can write."""
    encoding = out.encoding
    return Text(line.plain.translate(_PLAIN).encode(encoding, "replace").decode(encoding), style=line.style)


def _can_draw(out: TextIO) -> bool:
    encoding = getattr(out, "encoding", None) or "utf-8"
    try:
        "█▎…·".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _lines(diagnosis: Diagnosis, width: int, drawing: bool) -> Iterator[Text]:
    yield Text(_header(diagnosis, width))
    yield Text("")
    first, *more = verdict(diagnosis)
    yield from _wrapped(first, width, style="bold")
    for sentence in more:
        yield from _wrapped(sentence, width)
    accounting = diagnosis.table("accounting")
    if accounting is not None:
        yield Text("")
        yield from _accounting(diagnosis, accounting, width, drawing)
    if diagnosis.findings and not (diagnosis.healthy and not diagnosis.doubted):
        yield Text("")
        yield from _findings(diagnosis, width)
    if not diagnosis.healthy:
        yield from _tables(diagnosis, width)
    unknown = list(_read(diagnosis) if diagnosis.healthy else (*_read(diagnosis), *_unknown(diagnosis)))
    if unknown:
        yield Text("")
        yield Text("Not known", style="bold")
        for sentence in unknown:
            yield from _wrapped(sentence, width, indent="  ")
    yield Text("")
    yield from _wrapped(_next(diagnosis), width, style="dim")


def _tables(diagnosis: Diagnosis, width: int) -> Iterator[Text]:
    host_waits = any(finding.cause in _HOST_CAUSES for finding in diagnosis.findings)
    for name in ("large_gaps", "host_work", "suspects"):
        table = diagnosis.table(name)
        if table is not None and (host_waits or name != "host_work"):
            yield Text("")
            yield from _table(table, width)


def _header(diagnosis: Diagnosis, width: int) -> str:
    names = [shown(name, 40) for name in dict.fromkeys(d.name or "unnamed device" for d in diagnosis.devices)]
    files = [PurePath(file).name for file in diagnosis.source.files]
    parts = [listing(names, 2) if names else "no device"]
    if len(diagnosis.devices) > 1:
        parts[0] += f" x {len(diagnosis.devices)}"
    parts.append(shown(files[0], 40) if len(files) == 1 else plural(len(files), "file"))
    events = diagnosis.environment.get("events")
    if isinstance(events, int):
        parts.append(plural(events, "event"))
    if diagnosis.window is not None:
        mean = "mean window" if len(diagnosis.devices) > 1 else "window"
        parts.append(f"{mean} {duration_text(diagnosis.window.seconds)}")
    return shown(" · ".join(parts), width) if len(parts) < 3 else _fit(parts, width)


def _fit(parts: Sequence[str], width: int) -> str:
    text = " · ".join(parts)
    return text if len(text) <= width else f"{' · '.join(parts[:-2])}\n{' · '.join(parts[-2:])}"


def _wrapped(text: str, width: int, style: str = "", indent: str = "") -> Iterator[Text]:
    clean = printable(text)
    for line in textwrap.wrap(clean, width, initial_indent=indent, subsequent_indent=indent) or [""]:
        yield Text(line.replace(_KEEP, " "), style=style)


def _accounting(diagnosis: Diagnosis, table: Table, width: int, drawing: bool) -> Iterator[Text]:
    devices = sorted({(row[0], row[1]) for row in table.rows}, key=lambda key: (int(key[0] or 0), int(key[1] or 0)))
    yield Text("Where the time went", style="bold")
    if len(devices) == 1:
        for _, _, name, seconds, share in table.rows:
            if name == "idle" or share:
                yield _bar(str(name), seconds, share, width, drawing)
        split = _idle_split(diagnosis)
        if split:
            yield from _wrapped(f"idle by cause: {split}", width, indent="    ")
        yield from _wrapped(_launches(diagnosis), width, indent="    ")
        yield from _outside(diagnosis, width)
        return
    yield Text(f"{'':20}{'% of the window':<24}  idle by cause", style="dim")
    heads = " ".join(f"{name:>{size}}" for name, size in (*_CLASS_COLUMNS, *_CAUSE_COLUMNS))
    yield Text(f"  rank dev    window {heads}", style="dim")
    for key in devices[:_MOST_DEVICES]:
        yield Text(_device_row(diagnosis, table, key))
    if len(devices) > _MOST_DEVICES:
        yield Text(f"  and {plural(len(devices) - _MOST_DEVICES, 'more device')}")
    yield from _outside(diagnosis, width)


def _bar(name: str, seconds: object, share: object, width: int, drawing: bool) -> Text:
    fraction, value = float(str(share or 0)), float(str(seconds or 0))
    size = max(min(width - 50, _BAR), 10)
    filled = math.ceil(fraction * size - 0.5) or (1 if fraction else 0)
    bar = _blocks(fraction * size) if drawing else "#" * filled
    return Text(f"  {name:<14} {bar:<{size}} {duration_text(value):>12} {percent_text(fraction):>9}")


def _blocks(cells: float) -> str:
    """A bar of so many cells, to an eighth of a cell; what is there is never invisible."""
    eighths = max(round(cells * 8), 1) if cells else 0
    rest: str = ("", *"▏▎▍▌▋▊▉")[eighths % 8]
    return "█" * (eighths // 8) + rest


def _idle_split(diagnosis: Diagnosis) -> str:
    parts = []
    for name in ("host", "launch", "sync", "queue", "graph", "starved", "unknown"):
        values = diagnosis.metrics(f"idle.{name}_fraction")
        if values and values[0].value:
            parts.append(f"{name}{_KEEP}{percent_text(values[0].value).replace(' ', _KEEP)}")
    return ", ".join(parts)


def _launches(diagnosis: Diagnosis) -> str:
    texts = {
        name: duration_text(diagnosis.metrics(f"launch.{name}_s")[0].value)
        for name in ("gap_p50", "gap_p95", "gap_max", "interval_p50", "delay_p50")
    }
    return (
        f"launch gap (per stream) p50 {texts['gap_p50']}, p95 {texts['gap_p95']}, max {texts['gap_max']}; "
        f"launch interval p50 {texts['interval_p50']}; launch to start p50 {texts['delay_p50']}"
    )


def _outside(diagnosis: Diagnosis, width: int) -> Iterator[Text]:
    window = diagnosis.window
    if window is not None and window.judged_outside_s:
        text = (
            f"outside the device window: {duration_text(window.judged_outside_s)} of the steps, counted in the findings"
        )
        yield from _wrapped(text, width, indent="    ")


def _device_row(diagnosis: Diagnosis, table: Table, key: tuple[object, object]) -> str:
    labels = {"rank": str(key[0]), "device": str(key[1])}

    def share(*names: str) -> str:
        return f"{100 * sum(diagnosis.metric(f'{name}_fraction', **labels).value or 0 for name in names):.1f}"

    window = sum(float(row[3] or 0) for row in table.rows if (row[0], row[1]) == key)
    classes = [share(f"time.{name}") for name in ("compute", "communication", "copy", "idle")]
    causes = [share(f"idle.{name}") for name in ("host", "launch", "sync", "queue")]
    causes.append(share("idle.graph", "idle.starved", "idle.unknown"))
    sizes = (size for _, size in (*_CLASS_COLUMNS, *_CAUSE_COLUMNS))
    cells = " ".join(f"{cell:>{size}}" for cell, size in zip((*classes, *causes), sizes, strict=True))
    return f"  {key[0]!s:>4} {key[1]!s:>3} {duration_text(window):>9} {cells}"


def _findings(diagnosis: Diagnosis, width: int) -> Iterator[Text]:
    findings: Sequence[Finding] = diagnosis.findings
    outside = diagnosis.window is not None and diagnosis.window.judged_outside_s
    whole = " (shares of window and steps outside it)" if outside else ""
    yield Text(f"What to do, by time at stake{whole}", style="bold")
    for number, finding in enumerate(findings[:_MOST_FINDINGS], 1):
        cost = f"{duration_text(finding.lost_s):>11} {percent_text(finding.lost_fraction):>9}" if finding.lost_s else ""
        line = Text(f"  {number}  {finding.cause:<23} ")
        line.append(f"{finding.severity:<9}" if cost else finding.severity, style=_SEVERITY_STYLE[finding.severity])
        yield line.append(cost)
        sure = "" if finding.confidence == "high" else f" ({finding.confidence} confidence)"
        where = f"{place(finding)}: " if len(diagnosis.devices) > 1 else ""
        yield from _wrapped(f"{where}{finding.title}{sure}", width, indent="     ")
        for fix in finding.fix[:2]:
            yield from _wrapped(f"> {fix.text}", width, indent="     ")
            if fix.command:
                yield Text(f"       {fix.command}", style="cyan")
        for item in finding.evidence[:_MOST_EVIDENCE]:
            yield from _evidence(item, width)
    if len(findings) > _MOST_FINDINGS:
        yield Text(f"  and {plural(len(findings) - _MOST_FINDINGS, 'smaller finding')}")


def _evidence(item: Evidence, width: int) -> Iterator[Text]:
    """The value, right-aligned, and what it is; a value that is a name follows what it is."""
    named = isinstance(item.value, str)
    what = shown(item.what, 90)
    if named:
        what = f"{what}: {shown(str(item.value), 60)}"
    elif item.of:
        what = f"of {item.of}: {what}" if item.unit == "fraction" else f"{what} ({shown(item.of, 60)})"
    value = "" if named else _value(item.value, item.unit)
    first, *more = textwrap.wrap(what, max(width - 18, 20)) or [""]
    yield Text(f"     {value:>11}  {first}", style="dim")
    for line in more:
        yield Text(f"     {'':>11}  {line}", style="dim")


def _value(value: object, unit: str) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, str):
        return shown(value, 60)
    if not unit:
        return str(value)
    number = float(str(value))
    if unit == "s":
        return duration_text(number)
    if unit == "fraction":
        return percent_text(number)
    if unit in ("bytes", "bytes/s"):
        return bytes_text(number) + unit.removeprefix("bytes")
    return count_text(int(number)) if number.is_integer() else f"{number:.4g}"


def _table(table: Table, width: int) -> Iterator[Text]:
    """Numbers right-aligned; what is left of the line goes to the text columns."""
    rows = [[_value(cell, column.unit) for cell, column in zip(row, table.columns, strict=True)] for row in table.rows]
    rows = rows[:_MOST_ROWS]
    is_text = [
        column.unit == "" and any(isinstance(row[i], str) for row in table.rows)
        for i, column in enumerate(table.columns)
    ]
    widths = [max(len(column.name), *(len(row[i]) for row in rows)) for i, column in enumerate(table.columns)]
    room = width - 2 - sum(size + 2 for size, text in zip(widths, is_text, strict=True) if not text)
    widest = [i for i, text in enumerate(is_text) if text]
    while widest and sum(widths[i] + 2 for i in widest) > room:
        most = max(widest, key=lambda i: widths[i])
        if widths[most] <= 8:
            break
        widths[most] -= 1
    yield Text(table.title, style="bold")
    yield Text(_row([column.name for column in table.columns], widths, is_text), style="dim")
    for row in rows:
        yield Text(_row(row, widths, is_text))
    if len(table.rows) > _MOST_ROWS:
        yield Text(f"  and {plural(len(table.rows) - _MOST_ROWS, 'more row')}")


def _row(cells: Sequence[str], widths: Sequence[int], is_text: Sequence[bool]) -> str:
    shaped = (
        shown(cell, size).ljust(size) if text else cell.rjust(size)
        for cell, size, text in zip(cells, widths, is_text, strict=True)
    )
    return ("  " + "  ".join(shaped)).rstrip()


def _read(diagnosis: Diagnosis) -> Iterator[str]:
    """What became of the input on reading; what was lost of it is a finding already where there is a verdict."""
    for loss in diagnosis.source.lost if diagnosis.window is None else ():
        yield f"{count_text(loss.count)} x {loss.what}{f' ({shown(loss.detail, 80)})' if loss.detail else ''}."
    for note in diagnosis.source.notes:
        yield f"{note}."
    if diagnosis.window is not None and "no step marks" in diagnosis.window.note:
        yield f"Window: {diagnosis.window.note}."


def _unknown(diagnosis: Diagnosis) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for result in diagnosis.results:
        if result.skipped:
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


def _next(diagnosis: Diagnosis) -> str:
    if diagnosis.window is None:
        return "How to record a trace with device work: docs/how-to/record-a-trace.md"
    word = diagnosis.findings[0].cause if diagnosis.findings and not diagnosis.healthy else "time_accounting"
    return f"Keep it: -o diagnosis.json    More: diagtool explain {word}"
