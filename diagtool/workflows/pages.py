"""The documentation pages that travel with the package, by the name a user would ask for."""

from importlib import resources

from diagtool.causes import CAUSE_NAMES
from diagtool.errors import ERRORS, UsageError
from diagtool.metrics import METRICS, MetricSpec
from diagtool.units import nearest


def names() -> dict[str, str]:
    """Every word ``explain`` knows, with the kind of page it has."""
    from diagtool.analyses import ANALYSES

    known = dict.fromkeys(CAUSE_NAMES, "causes")
    known |= dict.fromkeys((analysis.name for analysis in ANALYSES), "analyses")
    known |= dict.fromkeys(METRICS, "metrics")
    return known | dict.fromkeys((error.slug for error in ERRORS), "errors")


def page(name: str) -> str:
    """The page of a cause, metric, analysis or error as Markdown. UsageError names the nearest words."""
    known = names()
    if name not in known:
        raise UsageError(f"nothing is called {name!r}", nearest(name, list(known)))
    if known[name] == "metrics":
        return metric_page(METRICS[name])
    return resources.files("diagtool").joinpath("pages", known[name], f"{name}.md").read_text(encoding="utf-8")


def metric_page(spec: MetricSpec) -> str:
    """The reference entry of a metric, from the registry."""
    better = f"{spec.better} is better" if spec.better else "neither end is better in itself"
    return f"# {spec.name}\n\n{spec.meaning}\n\nUnit: {spec.unit}; {better}. Definition: `{spec.definition}`.\n"
