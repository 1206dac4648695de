"""Sections of the HTML report, each a function of the diagnosis: verdict, accounting, findings, what is not known."""

from collections.abc import Iterator, Sequence

from diagtool.diagnosis import Diagnosis, Evidence, Finding, Metric
from diagtool.metrics import METRICS, TIME_CLASSES
from diagtool.reports import sentences
from diagtool.reports.figures import LAUNCHES, Account, accounts, by_name, place_text, value_text
from diagtool.reports.html_tables import stacked
from diagtool.reports.markup import Markup, join, tag
from diagtool.units import bytes_text, count_text, duration_text, percent_text, plural

_MOST_DEVICES = 16
_MOST_VALUES = 4
_MARKS = {"critical": "\N{BLACK UP-POINTING TRIANGLE}", "warning": "\N{BLACK DIAMOND}", "info": "\N{BLACK CIRCLE}"}


def section(name: str, title: str, *content: str) -> Markup:
    """A section with its heading; ``name`` is its anchor."""
    return tag("section", tag("h2", title, id=f"{name}-title"), *content, id=name, aria_labelledby=f"{name}-title")


def header(diagnosis: Diagnosis) -> Markup:
    """What was looked at, the verdict, and what sets the pace."""
    first, *more = sentences.verdict(diagnosis)
    looked = tag("p", join(sentences.looked_at(diagnosis), " \N{MIDDLE DOT} "), class_="looked")
    said = [
        *(tag("p", one, class_="second") for one in more),
        *(tag("p", one, class_="pace") for one in (sentences.pace(diagnosis), sentences.unrelated(diagnosis)) if one),
    ]
    return join((looked, tag("h1", first), *said))


def capture(diagnosis: Diagnosis) -> Markup:
    """All that is known about the input, folded away."""
    source, window = diagnosis.source, diagnosis.window
    facts: list[tuple[str, str]] = [("format", " ".join(filter(None, (source.format, source.tool, source.version))))]
    facts += [("file", file) for file in source.files]
    for device in diagnosis.devices:
        parts = [device.name or "unnamed device"]
        parts += [plural(device.sms, "SM")] if device.sms else []
        parts += [bytes_text(device.memory_bytes)] if device.memory_bytes else []
        parts += [f"compute capability {device.compute_capability}"] if device.compute_capability else []
        facts.append((f"rank {device.rank}, device {device.index}", ", ".join(parts)))
    if window is not None:
        note = f" ({window.note})" if window.note else ""
        facts.append(("window", f"{window.kind}, {duration_text(window.seconds)}{note}"))
    for known in (diagnosis.environment, diagnosis.workload):
        facts += [(key.replace("_", " "), value_text(value, "")) for key, value in known.items()]
    rows = (tag("div", tag("dt", what), tag("dd", value)) for what, value in facts)
    return tag("details", tag("summary", "About this capture"), tag("dl", *rows, class_="facts"))


def accounting(diagnosis: Diagnosis) -> Markup:
    """Where the time of each device went, idle by cause; empty where the diagnosis does not say."""
    devices = accounts(diagnosis)
    if not devices:
        return Markup("")
    body = _one_device(devices[0], diagnosis) if len(devices) == 1 else _many_devices(devices)
    outside = (tag("p", one, class_="note") for one in sentences.outside_window(diagnosis))
    return section("accounting", "Where the time went", body, *outside)


def _parts(account: Account) -> list[tuple[str, str, float]]:
    """The bar of a device: classes, and idle by cause where that is known."""
    parts = [(name.partition(" ")[0], name, share) for name, _, share in account.classes if name != "idle"]
    rest = account.share("idle") - sum(account.idle.values())
    idle = [(f"idle-{cause}", f"idle, {cause}", share) for cause, share in account.idle.items()]
    return [*parts, *idle, ("idle", "idle", rest if rest > 1e-9 else 0.0)]


def _one_device(account: Account, diagnosis: Diagnosis) -> Markup:
    rows = []
    for name, seconds, share in account.classes:
        if share or name == "idle":
            rows.append(_account_row(name.partition(" ")[0], name, seconds, share))
    rows += [
        _account_row(f"idle-{cause}", cause, share * account.window_s, share, "cause")
        for cause, share in account.idle.items()
    ]
    values = {name: next(iter(diagnosis.metrics(name)), None) for name in LAUNCHES}
    launches = [
        tag("tr", tag("td"), tag("th", words, scope="row"), _number(duration_text(value.value)), tag("td"))
        for (name, words) in LAUNCHES.items()
        if (value := values[name]) is not None and value.value is not None
    ]
    table = tag(
        "table",
        tag("caption", "Time and share of the window by class, idle by cause", class_="hidden"),
        tag("tbody", *rows),
        tag("tbody", *launches, class_="launches"),
        class_="account",
    )
    return join((stacked(_parts(account)), table))


def _account_row(kind: str, name: str, seconds: float, share: float, level: str | None = None) -> Markup:
    swatch = tag("td", tag("svg", tag("rect", class_=kind, width="100%", height="100%"), class_="swatch"))
    head = tag("th", name, scope="row")
    return tag("tr", swatch, head, _number(duration_text(seconds)), _number(percent_text(share)), class_=level)


def _number(value: str) -> Markup:
    return tag("td", value, class_="number")


def _many_devices(devices: Sequence[Account]) -> Markup:
    causes = ("host", "launch", "sync", "queue")
    heads = ("rank", "device", "window", "", *TIME_CLASSES, *(f"idle: {cause}" for cause in (*causes, "other")))
    rows = []
    for account in devices:
        idle = account.idle
        known = [idle.get(cause, 0.0) for cause in causes]
        shares = [*map(account.share, TIME_CLASSES), *known, max(sum(idle.values()) - sum(known), 0.0)]
        rows.append(
            tag(
                "tr",
                *map(_number, (str(account.rank), str(account.device), duration_text(account.window_s))),
                tag("td", stacked(_parts(account)), class_="bar"),
                *map(_number, map(percent_text, shares)),
            )
        )
    head = tag("tr", *(tag("th", name, scope="col", class_="number" if name else "bar") for name in heads))
    first = _account_table("Where the time of each device went", head, rows[:_MOST_DEVICES])
    if len(rows) <= _MOST_DEVICES:
        return join((_legend(), first))
    more = plural(len(rows) - _MOST_DEVICES, "more device")
    rest = _account_table(f"Where the time of {more} went", head, rows[_MOST_DEVICES:])
    return join((_legend(), first, tag("details", tag("summary", more), rest)))


def _account_table(caption: str, head: Markup, rows: Sequence[Markup]) -> Markup:
    table = tag("table", tag("caption", caption, class_="hidden"), tag("thead", head), tag("tbody", *rows))
    return tag("div", table, class_="scroll devices", tabindex="0", role="region", aria_label=caption)


def _legend() -> Markup:
    kinds = {name: name for name in TIME_CLASSES[:-1]} | {
        f"idle-{cause}": f"idle, {cause}" for cause in ("host", "launch", "sync", "queue")
    }
    items = (
        tag("li", tag("svg", tag("rect", class_=kind, width="100%", height="100%"), class_="swatch"), words)
        for kind, words in (kinds | {"idle": "idle, other"}).items()
    )
    return tag("ul", *items, class_="legend", aria_hidden="true")


def findings(diagnosis: Diagnosis) -> Markup:
    """What to do, costliest first; where there is nothing to do, one sentence and the rest folded away."""
    if not diagnosis.findings:
        return Markup("")
    items = tag("ol", *(_finding(one, n) for n, one in enumerate(diagnosis.findings, 1)), class_="findings")
    if not sentences.asks_for_something(diagnosis):
        small = tag("summary", plural(len(diagnosis.findings), "small finding"))
        return section("findings", "Nothing to do", tag("details", small, items))
    outside = diagnosis.window is not None and diagnosis.window.judged_outside_s
    whole = (tag("p", "Shares are of the window and the steps outside it.", class_="note"),) if outside else ()
    return section("findings", "What to do, by time at stake", items, *whole)


def _finding(finding: Finding, number: int) -> Markup:
    mark = tag("span", _MARKS.get(finding.severity, ""), aria_hidden="true")
    cost = (tag("b", duration_text(finding.lost_s)), " ", percent_text(finding.lost_fraction)) if finding.lost_s else ()
    where = place_text(finding.where)
    sure = f"{finding.confidence} confidence{f', {where}' if where else ''}"
    head = tag(
        "div",
        tag("h3", tag("span", str(number), class_="rank"), " ", finding.cause),
        tag("span", mark, " ", finding.severity, class_=f"severity {finding.severity}"),
        tag("span", sure, class_="sure"),
        tag("span", *cost, class_="cost"),
        class_="head",
    )
    say = tag("div", tag("p", finding.title), _fixes(finding))
    evidence = tag("dl", *(_evidence(item) for item in finding.evidence), class_="evidence")
    width = f"{min(max(finding.lost_fraction, 0.0), 1.0) * 100:.2f}%"
    bar = tag("svg", tag("rect", width=width, height="100%"), class_=f"stake {finding.severity}", aria_hidden="true")
    return tag("li", head, bar, tag("div", say, evidence, class_="body"), class_="finding")


def _fixes(finding: Finding) -> Markup:
    items = []
    for fix in finding.fix:
        command = (tag("code", fix.command, class_="command"),) if fix.command else ()
        items.append(tag("li", fix.text, *command))
    return tag("ul", *items, class_="fixes") if items else Markup("")


def _evidence(item: Evidence) -> Markup:
    named = isinstance(item.value, str)
    what = f"of {item.of}: {item.what}" if item.of and item.unit == "fraction" else item.what
    more = f" ({item.of})" if item.of and item.unit != "fraction" else ""
    value = "" if named else value_text(item.value, item.unit)
    words = f"{what}: {item.value}" if named else f"{what}{more}"
    return tag("div", tag("dd", value), tag("dt", words))


def not_known(diagnosis: Diagnosis) -> Markup:
    """What could not be answered or read, with the reasons."""
    told = (sentences.losses(diagnosis), sentences.notes(diagnosis), sentences.unknown(diagnosis))
    lines = [*(line for part in told for line in part), *sentences.without_value(diagnosis)]
    if not lines:
        return Markup("")
    return section("unknown", "Not known", tag("ul", *(tag("li", line) for line in lines), class_="lines"))


def methods(diagnosis: Diagnosis) -> Markup:
    """Every metric: what it means, its values, how they were got, and the id of the definition."""
    grouped = by_name([one for result in diagnosis.results for one in result.metrics])
    if not grouped:
        return Markup("")
    heads = ("definition", "value", "meaning", "method", "unit", "better")
    rows = (_metric(name, metrics) for name, metrics in grouped.items())
    table = tag(
        "table",
        tag("caption", "Metrics of this diagnosis", class_="hidden"),
        tag("thead", tag("tr", *(tag("th", head, scope="col") for head in heads))),
        tag("tbody", join(rows, "\n")),
        class_="methods",
    )
    note = "Values with different definition ids do not compare. Shares are of the window unless they say otherwise."
    region = tag("div", table, class_="scroll", tabindex="0", role="region", aria_label="Metrics")
    return section("methods", "Methods and definitions", tag("p", note, class_="note"), region)


def _metric(name: str, metrics: Sequence[Metric]) -> Markup:
    first = metrics[0]
    meaning = METRICS[name].meaning if name in METRICS else ""
    method = ", ".join(dict.fromkeys(one.method for one in metrics))
    return tag(
        "tr",
        tag("th", first.definition, scope="row", class_="mono"),
        tag("td", _values(metrics)),
        tag("td", meaning),
        *(tag("td", words, class_="quiet") for words in (method, first.unit, first.better or "")),
    )


def _values(metrics: Sequence[Metric]) -> Markup:
    places = len({tuple(one.labels.items()) for one in metrics}) > 1
    lines = [tag("span", *_value(one, places), class_="line") for one in metrics]
    if len(lines) <= _MOST_VALUES:
        return join(lines)
    known = [one.value for one in metrics if one.value is not None]
    ends = [value_text(end, metrics[0].unit) for end in (min(known), max(known))] if known else ["unknown"]
    span = f"{' to '.join(dict.fromkeys(ends))} ({count_text(len(lines))} values)"
    return tag("details", tag("summary", span), *lines)


def _value(one: Metric, places: bool) -> Iterator[str]:
    if places:
        yield tag("span", f"{place_text(one.labels)}: ", class_="quiet")
    yield value_text(one.value, one.unit)
    if one.value is None:
        yield tag("span", f" ({one.reason})", class_="quiet")
    if len(one.samples) > 1:
        yield tag("span", f" ({plural(len(one.samples), 'repeat')})", class_="quiet")
