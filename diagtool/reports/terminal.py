"""The report a person reads: what was looked at, one sentence, where the time went, what to do, what is not known.

80 columns, piped or not. Names from a trace are text, never markup, and their control characters do not reach the
terminal.
"""

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

from rich.text import Text

from diagtool.diagnosis import Diagnosis, Evidence, Finding, Scalar, Table
from diagtool.kernel_classes import short_name
from diagtool.metrics import TIME_CLASSES
from diagtool.reports import sentences
from diagtool.reports.figures import Account, accounts, is_text, known_part, value_text
from diagtool.reports.layout import KEEP, can_draw, shown, wrapped, write
from diagtool.units import duration_text, percent_text, plural

if TYPE_CHECKING:
    from diagtool.timeline import Timeline

_BAR = 30
_MOST_FINDINGS, _MOST_EVIDENCE = 8, 6
_MOST_ROWS = 8
_MOST_DEVICES = 16
_CLASS_COLUMNS = (("comp.", 5), ("comm.", 5), ("copy", 5), ("idle", 5))
_CAUSE_COLUMNS = (("host", 7), ("launch", 6), ("sync", 5), ("queue", 5), ("other", 5))
_HOST_CAUSES = ("host-bound", "data-loading", "warm-up", "allocator-churn")
# Of tables that are wider than a terminal, the columns that are shown.
_COLUMNS = {
    "kernels": ("kernel", "calls", "time", "share", "occupancy", "limited by"),
    "roofline": ("part", "time", "fraction", "roof", "density", "bandwidth"),
}
_SEVERITY_STYLE = {"critical": "bold red", "warning": "yellow", "info": "cyan"}


def render(diagnosis: Diagnosis, out: TextIO, timeline: "Timeline | None" = None) -> None:
    """Write the report; in colour where ``out`` is a terminal that wants it."""
    drawing = can_draw(out)
    write(lambda width: _lines(diagnosis, width, drawing), out)


def _lines(diagnosis: Diagnosis, width: int, drawing: bool) -> Iterator[Text]:
    yield Text(_header(diagnosis, width))
    yield Text("")
    first, *more = sentences.verdict(diagnosis)
    yield from wrapped(first, width, style="bold")
    for sentence in more:
        yield from wrapped(sentence, width)
    for sentence in (sentences.pace(diagnosis, reasons=False), sentences.unrelated(diagnosis)):
        if sentence:
            yield from wrapped(sentence, width, style="dim")
    devices = accounts(diagnosis)
    if devices:
        yield Text("")
        yield from _accounting(diagnosis, devices, width, drawing)
    if sentences.asks_for_something(diagnosis):
        yield Text("")
        yield from _findings(diagnosis, width)
    yield from _tables(diagnosis, width)
    unknown = [*_read(diagnosis), *([] if diagnosis.healthy else sentences.unknown(diagnosis))]
    unknown += [text for text in sentences.modelled(diagnosis) if text not in unknown]
    if unknown:
        yield Text("")
        yield Text("Not known", style="bold")
        for sentence in unknown:
            yield from wrapped(sentence, width, indent="  ")
    yield Text("")
    yield from wrapped(_next(diagnosis), width, style="dim")


def _tables(diagnosis: Diagnosis, width: int) -> Iterator[Text]:
    host_waits = any(finding.cause in _HOST_CAUSES for finding in diagnosis.findings)
    waited = any(finding.cause == "straggler" for finding in diagnosis.findings)
    wanted = {"host_work": host_waits, "collective_ranks": waited}
    every = ("large_gaps", "host_work", "collective_ranks", "roofline", "kernels", "suspects")
    # A healthy input ends with its accounting, and with the roofline where one was asked for.
    for name in ("roofline",) if diagnosis.healthy else every:
        table = diagnosis.table(name)
        if table is not None and wanted.get(name, True):
            yield Text("")
            yield from _table(_narrow(table), width)
            if name == "kernels":
                yield from wrapped(sentences.kernel_classes(diagnosis), width, indent="    ", style="dim")


def _narrow(table: Table) -> Table:
    """The table with the columns that a terminal has room for, and kernels by their short names."""
    known, _ = known_part(table)
    wanted = _COLUMNS.get(table.name, [column.name for column in known.columns])
    at = [i for i, column in enumerate(known.columns) if column.name in wanted]
    rows = (tuple(known.rows[n][i] for i in at) for n in range(len(known.rows)))
    narrow = replace(known, columns=tuple(known.columns[i] for i in at), rows=tuple(rows))
    if not narrow.columns or narrow.columns[0].name != "kernel":
        return narrow
    rows = ((short_name(str(row[0])), *map(_brief, row[1:])) for row in narrow.rows)
    return replace(narrow, rows=tuple(rows))


def _brief(cell: Scalar) -> Scalar:
    """What limits the occupancy of a kernel, in few letters."""
    if not isinstance(cell, str):
        return cell
    return cell.replace("shared memory", "smem").replace("registers", "regs").replace(" and ", ", ")


def _header(diagnosis: Diagnosis, width: int) -> str:
    parts = sentences.looked_at(diagnosis, lambda name: shown(name, 40))
    return shown(" · ".join(parts), width) if len(parts) < 3 else _fit(parts, width)


def _fit(parts: Sequence[str], width: int) -> str:
    text = " · ".join(parts)
    return text if len(text) <= width else f"{' · '.join(parts[:-2])}\n{' · '.join(parts[-2:])}"


def _accounting(diagnosis: Diagnosis, devices: Sequence[Account], width: int, drawing: bool) -> Iterator[Text]:
    yield Text("Where the time went", style="bold")
    if len(devices) == 1:
        for name, seconds, share in devices[0].classes:
            if name == "idle" or share:
                yield _bar(name, seconds, share, width, drawing)
        split = _idle_split(devices[0])
        if split:
            yield from wrapped(f"idle by cause: {split}", width, indent="    ")
        yield from wrapped(_launches(diagnosis), width, indent="    ")
        yield from wrapped(sentences.filled(diagnosis), width, indent="    ")
    else:
        yield Text(f"{'':20}{'% of the window':<24}  idle by cause", style="dim")
        heads = " ".join(f"{name:>{size}}" for name, size in (*_CLASS_COLUMNS, *_CAUSE_COLUMNS))
        yield Text(f"  rank dev    window {heads}", style="dim")
        for account in devices[:_MOST_DEVICES]:
            yield Text(_device_row(account))
        if len(devices) > _MOST_DEVICES:
            yield Text(f"  and {plural(len(devices) - _MOST_DEVICES, 'more device')}")
    for sentence in (*sentences.steps(diagnosis), *sentences.outside_window(diagnosis)):
        yield from wrapped(sentence, width, indent="    ")


def _bar(name: str, seconds: float, share: float, width: int, drawing: bool) -> Text:
    size = max(min(width - 50, _BAR), 10)
    filled = math.ceil(share * size - 0.5) or (1 if share else 0)
    bar = _blocks(share * size) if drawing else "#" * filled
    return Text(f"  {name:<14} {bar:<{size}} {duration_text(seconds):>12} {percent_text(share):>9}")


def _blocks(cells: float) -> str:
    """A bar of so many cells, to an eighth of a cell; what is there is never invisible."""
    eighths = max(round(cells * 8), 1) if cells else 0
    rest: str = ("", *"▏▎▍▌▋▊▉")[eighths % 8]
    return "█" * (eighths // 8) + rest


def _idle_split(account: Account) -> str:
    return ", ".join(f"{cause}{KEEP}{percent_text(share).replace(' ', KEEP)}" for cause, share in account.idle.items())


def _launches(diagnosis: Diagnosis) -> str:
    texts = {
        name: duration_text(diagnosis.metrics(f"launch.{name}_s")[0].value)
        for name in ("gap_p50", "gap_p95", "gap_max", "interval_p50", "delay_p50")
    }
    return (
        f"launch gap (per stream) p50 {texts['gap_p50']}, p95 {texts['gap_p95']}, max {texts['gap_max']}; "
        f"launch interval p50 {texts['interval_p50']}; launch to start p50 {texts['delay_p50']}"
    )


def _device_row(account: Account) -> str:
    idle = account.idle
    causes = [idle.get(cause, 0.0) for cause in ("host", "launch", "sync", "queue")]
    shares = [*(account.share(name) for name in TIME_CLASSES), *causes, sum(idle.values()) - sum(causes)]
    sizes = (size for _, size in (*_CLASS_COLUMNS, *_CAUSE_COLUMNS))
    cells = " ".join(f"{100 * abs(share):>{size}.1f}" for share, size in zip(shares, sizes, strict=True))
    return f"  {account.rank!s:>4} {account.device!s:>3} {duration_text(account.window_s):>9} {cells}"


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
        where = f"{sentences.place(finding)}: " if len(diagnosis.devices) > 1 else ""
        yield from wrapped(f"{where}{finding.title}{sure}", width, indent="     ")
        for fix in finding.fix[:2]:
            yield from wrapped(f"> {fix.text}", width, indent="     ")
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
    return shown(value, 60) if isinstance(value, str) else value_text(value, unit)


def _table(table: Table, width: int) -> Iterator[Text]:
    """Numbers right-aligned; what is left of the line goes to the text columns."""
    rows = [[_value(cell, column.unit) for cell, column in zip(row, table.columns, strict=True)] for row in table.rows]
    rows = rows[:_MOST_ROWS]
    words = is_text(table)
    widths = [max(len(column.name), *(len(row[i]) for row in rows)) for i, column in enumerate(table.columns)]
    room = width - 2 - sum(size + 2 for size, text in zip(widths, words, strict=True) if not text)
    widest = [i for i, text in enumerate(words) if text]
    while widest and sum(widths[i] + 2 for i in widest) > room:
        most = max(widest, key=lambda i: widths[i])
        if widths[most] <= 8:
            break
        widths[most] -= 1
    yield Text(table.title, style="bold")
    yield Text(_row([column.name for column in table.columns], widths, words), style="dim")
    for row in rows:
        yield Text(_row(row, widths, words))
    if len(table.rows) > _MOST_ROWS:
        yield Text(f"  and {plural(len(table.rows) - _MOST_ROWS, 'more row')}")


def _row(cells: Sequence[str], widths: Sequence[int], words: Sequence[bool]) -> str:
    shaped = (
        shown(cell, size).ljust(size) if text else cell.rjust(size)
        for cell, size, text in zip(cells, widths, words, strict=True)
    )
    return ("  " + "  ".join(shaped)).rstrip()


def _read(diagnosis: Diagnosis) -> Iterator[str]:
    """What became of the input on reading; what was lost of it is a finding already where there is a verdict."""
    if diagnosis.window is None:
        yield from sentences.losses(diagnosis, lambda detail: shown(detail, 80))
    yield from sentences.notes(diagnosis)


def _next(diagnosis: Diagnosis) -> str:
    if diagnosis.window is None:
        return "How to record a trace with device work: docs/how-to/record-a-trace.md"
    word = diagnosis.findings[0].cause if diagnosis.findings and not diagnosis.healthy else "time_accounting"
    return f"Keep it: -o diagnosis.json    More: diagtool explain {word}"
