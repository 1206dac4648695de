"""The docs say what the code does: every thing has its page, every output shown is real, every link leads somewhere."""

import re

import generate
import pytest

from diagtool.analyses import ANALYSES
from diagtool.causes import CAUSES
from diagtool.cli.app import app
from diagtool.config import Config
from diagtool.errors import ERRORS, ExitCode
from diagtool.metrics import METRICS
from diagtool.reports import REPORTS
from diagtool.workflows import pages

ROOT = generate.ROOT
REFERENCE = ROOT / "docs/reference"
ALL_PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])


def stems(folder):
    return {path.stem for path in (REFERENCE / folder).glob("*.md")}


def test_every_cause_analysis_and_error_has_its_page_and_no_other():
    assert stems("causes") == {cause.name for cause in CAUSES}
    assert stems("analyses") == {analysis.name for analysis in ANALYSES}
    assert stems("errors") == {error.slug for error in ERRORS}


@pytest.mark.parametrize("name", pages.names())
def test_explain_has_a_page_for_every_word(name):
    text = pages.page(name)
    assert text.startswith(f"# {name}\n")
    assert len(text.split()) >= 15


@pytest.mark.parametrize("analysis", ANALYSES, ids=lambda analysis: analysis.name)
def test_an_analysis_page_has_its_question(analysis):
    assert analysis.question in pages.page(analysis.name)


def test_every_metric_is_on_some_analysis_page():
    text = "".join(pages.page(analysis.name) for analysis in ANALYSES)
    assert [name for name in METRICS if name not in text] == []


def test_generated_pages_are_fresh():
    assert generate.CLI.read_text() == generate.cli_reference(), "run make docs"
    assert generate.METRICS_PAGE.read_text() == generate.metrics_reference(), "run make docs"


def test_the_cli_reference_has_every_command_and_exit_code():
    text = generate.CLI.read_text()
    for command in app.registered_commands:
        assert f"diagtool {command.callback.__name__}" in text
    for code in ExitCode:
        assert re.search(rf"\b{code.value} ", text)


@pytest.mark.parametrize("path", generate.PAGES_WITH_CONSOLE, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_output_shown_is_real(path):
    text = path.read_text()
    assert text == generate.with_fresh_output(text), "run make docs and look at the change"


def test_the_readme_shows_real_output_on_its_first_screen():
    first_screen = "\n".join((ROOT / "README.md").read_text().splitlines()[:60])
    assert "$ diagtool profile" in first_screen
    assert "Where the time went" in first_screen


@pytest.mark.parametrize("path", ALL_PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not target.startswith(("http:", "https:")):
            assert (path.parent / target).exists(), target


def test_settings_and_report_formats_are_described():
    text = (REFERENCE / "settings.md").read_text()
    assert all(f"`{name}`" in text for name in Config.__slots__)
    text = (REFERENCE / "reports.md").read_text()
    assert all(f"`{report.name}`" in text for report in REPORTS)


def test_every_page_is_reached_from_the_index():
    seen, todo = set(), [ROOT / "docs/index.md"]
    while todo:
        path = todo.pop()
        if path in seen or path.suffix != ".md":
            continue
        seen.add(path)
        links = re.findall(r"\]\(([^)#:]+\.md)(?:#[^)]*)?\)", path.read_text())
        todo += [(path.parent / link).resolve() for link in links]
    assert set((ROOT / "docs").rglob("*.md")) <= seen


def test_the_changelog_has_an_unreleased_section():
    assert "## Unreleased" in (ROOT / "CHANGELOG.md").read_text()
