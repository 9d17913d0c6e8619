import json
import shlex
from pathlib import Path

import pytest

from tests.cli.test_cli import invoke

EXAMPLE = Path(__file__).parents[2] / "examples" / "one_good.toml"


def shortened(path, rounds, seeds):
    """The example with fewer rounds."""
    text = EXAMPLE.read_text(encoding="utf-8")
    assert "rounds = 20_000\nseeds = 3\n" in text
    run = f"rounds = {rounds}\nseeds = {seeds}\n"
    path.write_text(text.replace("rounds = 20_000\nseeds = 3\n", run), encoding="utf-8")
    return path


@pytest.fixture
def config(tmp_path):
    return shortened(tmp_path / "short.toml", 300, 3)


def test_the_example_proves_its_point(tmp_path):
    config, out = shortened(tmp_path / "one.toml", 4_000, [1]), tmp_path / "made" / "on the way"
    result = invoke("run", config, "--folder", out)
    assert result.exit_code == 0, result.output
    assert "1 of 1" in result.output
    assert (out / "report.html").is_file()
    sieve, uniform = json.loads((out / "result.json").read_text())["learners"]
    assert sieve["certified_share"] == 1
    assert sieve["worst_suboptimality"] == 0
    assert 3 * sieve["certified_rounds"] < 4_000
    assert uniform["certified_rounds"] is None


def test_figures_and_what_was_typed(config, tmp_path):
    invoke("run", config, "--folder", tmp_path / "a", "--figures", tmp_path / "figures")
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"bounds.png", "bounds.svg", "leaders.png", "suboptimality.svg"} <= names
    page = (tmp_path / "a" / "report.html").read_text(encoding="utf-8")
    typed = shlex.join(["policysieve", "run", str(config), "--folder", str(tmp_path / "a")])
    assert f"<code>{typed} --figures" in page


def test_json_is_what_is_saved(config, tmp_path):
    printed = invoke("run", config, "--folder", tmp_path / "a", "--json")
    assert printed.exit_code == 0
    saved = json.loads((tmp_path / "a" / "result.json").read_text())
    assert json.loads(printed.stdout) == saved
    assert saved["rounds"] == 300


def test_what_was_not_proved_is_a_dash(config, tmp_path):
    result = invoke("run", config, "--folder", tmp_path / "a")
    assert "0 of 3" in result.output


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'kind = "Uniform"',
            'kind = "Unifrom"',
            "learner[1].kind: unknown 'Unifrom', did you mean",
        ),
        ("epsilon = 0.05", "epsilon = 5", "problem: epsilon must be"),
        ("[problem]", "[problem", "is not a TOML file"),
    ],
)
def test_complaints_are_one_line_and_nothing_is_written(config, tmp_path, old, new, message):
    config.write_text(config.read_text().replace(old, new))
    result = invoke("run", config, "--folder", tmp_path / "a")
    assert result.exit_code == 1
    assert message in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "a").exists()


def test_a_file_that_is_not_there(tmp_path):
    result = invoke("run", tmp_path / "none.toml")
    assert result.exit_code == 1
    assert "no settings at" in result.output
