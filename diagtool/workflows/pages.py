"""The documentation pages that travel with the package, by the name a user would ask for."""

import textwrap
from importlib import resources

from diagtool.causes import CAUSE_NAMES, CAUSES
from diagtool.errors import ERRORS, UsageError
from diagtool.metrics import METRICS, MetricSpec
from diagtool.units import nearest

# Words that reports print, and the metric that defines each.
_IN_REPORTS = {name: f"idle.{name}_fraction" for name in ("host", "launch", "sync", "queue", "graph", "unknown")} | {
    "compute": "time.compute_fraction",
    "communication": "time.communication_fraction",
    "copy": "time.copy_fraction",
    "idle": "time.idle_fraction",
    "busy": "device.busy_fraction",
}


def names() -> dict[str, str]:
    """Every word ``explain`` knows, with the kind of page it has."""
    from diagtool.analyses import ANALYSES

    known = dict.fromkeys(CAUSE_NAMES, "causes")
    known |= dict.fromkeys((analysis.name for analysis in ANALYSES), "analyses")
    known |= dict.fromkeys(METRICS, "metrics")
    return known | dict.fromkeys((error.slug for error in ERRORS), "errors")


def index() -> str:
    """Every word ``explain`` knows by kind, with what each cause and metric means."""
    meaning = {cause.name: cause.summary for cause in CAUSES} | {name: spec.meaning for name, spec in METRICS.items()}
    known = names()
    lines: list[str] = []
    for kind in dict.fromkeys(known.values()):
        lines += ["", f"{kind}:"]
        for word in (word for word, its in known.items() if its == kind):
            lines += textwrap.wrap(f"{word:<24} {meaning.get(word, '')}".rstrip(), 80, initial_indent="  ",
                                   subsequent_indent=" " * 27)  # fmt: skip
    return "\n".join(lines[1:])


def page(name: str) -> str:
    """The page of a cause, metric, analysis or error as Markdown. UsageError names the nearest word."""
    known = names()
    name = name if name in known else _IN_REPORTS.get(name, name)
    if name not in known:
        raise UsageError(f"nothing is called {name!r}", nearest(name, list(known)))
    if known[name] == "metrics":
        return metric_page(METRICS[name])
    return resources.files("diagtool").joinpath("pages", known[name], f"{name}.md").read_text(encoding="utf-8")


def metric_page(spec: MetricSpec) -> str:
    """The reference entry of a metric, from the registry."""
    better = f"{spec.better} is better" if spec.better else "neither end is better in itself"
    return f"# {spec.name}\n\n{spec.meaning}\n\nUnit: {spec.unit}; {better}. Definition: `{spec.definition}`.\n"
