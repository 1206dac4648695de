"""Settings: where they come from and what is refused."""

import pytest

from diagtool.config import Config, load
from diagtool.errors import ConfigError


def project(path, text):
    (path / "pyproject.toml").write_text(text)
    return path


def test_default_when_nothing_is_set(tmp_path):
    assert load(project(tmp_path, ""), {}) == Config()


def test_nearest_file_then_environment(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    project(tmp_path, '[tool.diagtool]\nwindow = "steps"\nredact = true\n')
    assert load(inner, {}) == Config(window="steps", redact=True)
    assert load(inner, {"DIAGTOOL_WINDOW": "device", "DIAGTOOL_REDACT": "0"}) == Config()


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[tool.diagtool]\nwindoww = 'steps'\n", "unknown key 'windoww'", "did you mean window?"),
        ("[tool.diagtool]\nredact = 'yes'\n", "must be of type bool", ""),
        ("[tool.diagtool]\nwindow = 'week'\n", "window in [tool.diagtool]", "device, steps"),
        ("[tool.diagtool\n", "cannot read pyproject.toml", ""),
    ],
)
def test_mistakes_name_the_way_out(tmp_path, text, message, hint):
    with pytest.raises(ConfigError) as caught:
        load(project(tmp_path, text), {})
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_broken_file_of_another_project_is_passed_over(tmp_path):
    assert load(project(tmp_path, "[tool.other\n"), {}) == Config()


def test_environment_flag_must_be_a_flag(tmp_path):
    with pytest.raises(ConfigError, match="DIAGTOOL_REDACT is 'maybe'"):
        load(project(tmp_path, ""), {"DIAGTOOL_REDACT": "maybe"})
