"""The report as Markdown for pull requests and tickets: GitHub's dialect, names escaped so that they stay text.

What a trace or a file calls something goes into a code span: GitHub renders no markup in it and links no name, number
or address.
"""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from diagtool.diagnosis import Diagnosis, Evidence, Finding, Table
from diagtool.metrics import IDLE_CLASSES, TIME_CLASSES
from diagtool.reports import sentences
from diagtool.reports.figures import (
    LAUNCHES,
    Account,
    accounts,
    by_name,
    is_text,
    known_part,
    place_text,
    value_text,
)
from diagtool.units import duration_text, percent_text, plural, printable

if TYPE_CHECKING:
    from diagtool.timeline import Timeline

_MOST_FINDINGS, _MOST_ROWS, _MOST_DEVICES, _MOST_VALUES = 8, 10, 16, 4
_LONGEST_NAME = 120
# A word that no dialect of Markdown reads as markup and GitHub links to nothing.
_PLAIN_WORD = re.compile(r"\(?[+-]?\d[\d.,]*[.,;:)]*|\(?[^\W_](?:[^\W_]|[.,;:()%+/'\"=-])*|%[.,;:)]*")
_LINKED = re.compile(r"://|^www\.|:[^\W_]+:|\b[0-9a-f]{7,40}\b|\bGH-\d", re.IGNORECASE)
_NUMBERED = re.compile(r"\d+[.)]")
_SIGNS = {"<": "&lt;", ">": "&gt;", "->": "-&gt;"}


def render(diagnosis: Diagnosis, out: TextIO, timeline: "Timeline | None" = None) -> None:
    """Write the report; what ``out`` cannot encode becomes a question mark."""
    encoding = getattr(out, "encoding", None) or "utf-8"
    text = "\n".join(_lines(diagnosis)) + "\n"
    out.write(text.encode(encoding, "replace").decode(encoding))


def code(text: str) -> str:
    """Any text as code; with ``|``, ````` or ``\\`` in it as an element, for they end cells and spans."""
    shown = _short(printable(text)).strip() or " "
    if not set(shown) & set("`|\\"):
        return f"`{shown}`"
    return f"<code>{''.join(c if c.isalnum() or c in ' .,:;()' else f'&#{ord(c)};' for c in shown)}</code>"


def prose(text: str) -> str:
    """A sentence; the words in it that could be markup, a mention or a link become code."""
    parts: list[str] = []
    odd: list[str] = []
    for place, word in enumerate([*printable(text).split(), None]):
        if word is not None and not _is_plain(word, first=not place):
            odd.append(word)
            continue
        if odd:
            name = " ".join(odd)
            bare = name.rstrip(".,;:") or name
            parts.append(code(bare) + name[len(bare) :])
            odd = []
        if word is not None:
            parts.append(_SIGNS.get(word, word))
    return " ".join(parts)


def _is_plain(word: str, *, first: bool) -> bool:
    if word in _SIGNS:
        return True
    if first and (_NUMBERED.fullmatch(word) or word[0] in "+-"):
        return False
    return _PLAIN_WORD.fullmatch(word) is not None and _LINKED.search(word) is None


def _short(text: str) -> str:
    if len(text) <= _LONGEST_NAME:
        return text
    head = _LONGEST_NAME * 2 // 3
    return f"{text[:head]}\N{HORIZONTAL ELLIPSIS}{text[head + 1 - _LONGEST_NAME :]}"


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    looked_at = " \N{MIDDLE DOT} ".join(map(prose, sentences.looked_at(diagnosis)))
    yield f"## {looked_at}"
    first, *more = map(prose, sentences.verdict(diagnosis))
    yield from ("", f"**{first}**", *more)
    for sentence in (sentences.pace(diagnosis, reasons=False), sentences.unrelated(diagnosis)):
        if sentence:
            yield from ("", prose(sentence))
    yield from _accounting(diagnosis)
    if sentences.asks_for_something(diagnosis):
        yield from _findings(diagnosis)
    if not diagnosis.healthy:
        yield from _tables(diagnosis)
    yield from _not_known(diagnosis)
    if not diagnosis.healthy:
        yield from _metrics(diagnosis)
    if diagnosis.findings and not diagnosis.healthy:
        yield from ("", f"More: `diagtool explain {diagnosis.findings[0].cause}`")


def _accounting(diagnosis: Diagnosis) -> Iterator[str]:
    devices = accounts(diagnosis)
    if not devices:
        return
    yield from ("", "### Where the time went", "")
    if len(devices) == 1:
        yield from _grid(("", "time", "share"), _one_device(devices[0]), numbers=(1, 2))
        figures = {name: next(iter(diagnosis.metrics(name)), None) for name in LAUNCHES}
        known = (
            f"{words} {duration_text(one.value)}"
            for name, words in LAUNCHES.items()
            if (one := figures[name]) is not None and one.value is not None
        )
        launches = "; ".join(known)
        yield from ("", f"{launches[0].upper()}{launches[1:]}.") if launches else ()
    else:
        heads = ("rank", "device", "window", *TIME_CLASSES, *(f"idle: {cause}" for cause in IDLE_CLASSES))
        yield from _grid(heads, map(_device, devices[:_MOST_DEVICES]), numbers=range(len(heads)))
        if len(devices) > _MOST_DEVICES:
            yield from ("", f"And {plural(len(devices) - _MOST_DEVICES, 'more device')}.")
    for sentence in sentences.outside_window(diagnosis):
        yield from ("", f"{sentence[0].upper()}{sentence[1:]}.")


def _one_device(account: Account) -> Iterator[Sequence[str]]:
    for name, seconds, share in account.classes:
        if share or name == "idle":
            yield (prose(name), duration_text(seconds), percent_text(share))
    for cause, share in account.idle.items():
        yield (f"idle: {cause}", duration_text(share * account.window_s), percent_text(share))


def _device(account: Account) -> Sequence[str]:
    shares = [*map(account.share, TIME_CLASSES), *(account.idle.get(cause, 0.0) for cause in IDLE_CLASSES)]
    return (
        str(account.rank),
        str(account.device),
        duration_text(account.window_s),
        *map(percent_text, shares),
    )


def _findings(diagnosis: Diagnosis) -> Iterator[str]:
    outside = diagnosis.window is not None and diagnosis.window.judged_outside_s
    whole = " (shares of window and steps outside it)" if outside else ""
    yield from ("", f"### What to do, by time at stake{whole}")
    for number, finding in enumerate(diagnosis.findings[:_MOST_FINDINGS], 1):
        yield from ("", *_finding(finding, number))
    if len(diagnosis.findings) > _MOST_FINDINGS:
        yield from ("", f"And {plural(len(diagnosis.findings) - _MOST_FINDINGS, 'smaller finding')}.")


def _finding(finding: Finding, number: int) -> Iterator[str]:
    cost = (f"{duration_text(finding.lost_s)} ({percent_text(finding.lost_fraction)})",) if finding.lost_s else ()
    facts = (finding.severity, *cost, f"{finding.confidence} confidence", place_text(finding.where))
    yield f"**{number}. {prose(finding.cause)}** \N{EN DASH} {', '.join(prose(fact) for fact in facts if fact)}"
    yield from ("", prose(finding.title), "")
    for fix in finding.fix:
        yield f"* To do: {prose(fix.text)}{f' {code(fix.command)}' if fix.command else ''}"
    for item in finding.evidence:
        yield f"* {_evidence(item)}"


def _evidence(item: Evidence) -> str:
    if isinstance(item.value, str):
        return f"{prose(item.what)}: {code(item.value)}"
    value = prose(value_text(item.value, item.unit))
    if item.of and item.unit == "fraction":
        return f"{value} of {prose(item.of)}: {prose(item.what)}"
    return f"{value} {prose(item.what)}{f' ({prose(item.of)})' if item.of else ''}"


def _tables(diagnosis: Diagnosis) -> Iterator[str]:
    """Every table but the accounting, folded; a long one is cut."""
    for given in (table for result in diagnosis.results for table in result.tables):
        if given.name == "accounting" or not given.rows:
            continue
        table, unknown = known_part(given)
        words = is_text(table)
        numbers = [i for i, text in enumerate(words) if not text]
        rows = (
            [_cell(cell, column.unit, text) for cell, column, text in zip(row, table.columns, words, strict=True)]
            for row in table.rows[:_MOST_ROWS]
        )
        heads = [prose(column.name) for column in table.columns]
        yield from _folded(table.title, _cut(_grid(heads, rows, numbers=numbers), table, unknown))


def _cell(value: object, unit: str, text: bool) -> str:
    return code(str(value)) if text and value is not None else prose(value_text(value, unit))


def _cut(lines: Iterable[str], table: Table, unknown: Sequence[str]) -> Iterator[str]:
    yield from lines
    if len(table.rows) > _MOST_ROWS:
        yield from ("", f"And {plural(len(table.rows) - _MOST_ROWS, 'more row')}.")
    if unknown:
        yield from ("", f"Not known of any row: {prose(', '.join(unknown))}.")


def _not_known(diagnosis: Diagnosis) -> Iterator[str]:
    told = [*sentences.losses(diagnosis), *sentences.notes(diagnosis)]
    if not diagnosis.healthy:
        told += [*sentences.unknown(diagnosis), *sentences.without_value(diagnosis)]
    if told:
        yield from ("", "### Not known", "", *(f"* {prose(sentence)}" for sentence in told))


def _metrics(diagnosis: Diagnosis) -> Iterator[str]:
    grouped = by_name([one for result in diagnosis.results for one in result.metrics])
    rows = []
    for metrics in grouped.values():
        values = [value_text(one.value, one.unit) for one in metrics]
        if len(values) > _MOST_VALUES:
            known = [one.value for one in metrics if one.value is not None]
            ends = [value_text(end, metrics[0].unit) for end in (min(known), max(known))] if known else ["unknown"]
            values = [f"{' to '.join(dict.fromkeys(ends))} on {plural(len(metrics), 'device')}"]
        method = ", ".join(dict.fromkeys(one.method for one in metrics))
        rows.append((code(metrics[0].definition), "; ".join(map(prose, values)), prose(method)))
    if rows:
        yield from _folded(
            "Metrics and their definitions", _grid(("definition", "value", "method"), rows, numbers=(1,))
        )


def _folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    # Nothing in the line of an element is read as Markdown.
    shown = title if prose(title) == title else f"<code>{html.escape(printable(title))}</code>"
    yield from ("", "<details>", f"<summary>{shown}</summary>", "", *lines, "", "</details>")


def _grid(heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Iterable[int]) -> Iterator[str]:
    right = set(numbers)
    yield f"| {' | '.join(heads)} |"
    yield f"|{'|'.join('---:' if i in right else '---' for i in range(len(heads)))}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
