import json

import pytest

from policysieve.formats import FORMATS
from policysieve.log import Log
from tests.cli.test_cli import invoke

TEXT = "1:0.0:0.5 | c=1\n2:0.25:0.25 | c=2\n2:1.0:0.25 | c=3\n"


@pytest.fixture
def log(tmp_path):
    (tmp_path / "log.vw").write_text(TEXT)
    return tmp_path / "log.vw"


def test_says_what_was_converted(log, tmp_path):
    result = invoke("convert", log, tmp_path / "log.parquet", "--reward-range", -1, 0)
    assert result.exit_code == 0, result.output
    assert "log.parquet  (parquet)" in result.output
    for words in (
        "rounds               3\n",
        "contexts             row numbers\n",
        "actions seen         2\n",
        "mean reward          -0.416667\n",
        "smallest propensity  0.25\n",
    ):
        assert words in result.output
    converted = Log.load(tmp_path / "log.parquet")
    assert converted.rewards.tolist() == [[0.0], [-0.25], [-1.0]]
    assert converted.reward_range == (-1.0, 0.0)


def test_says_what_is_not_held(tmp_path):
    (tmp_path / "a.csv").write_text("time,context,action,propensity,reward\n5,1,0,0.5,1\n")
    result = invoke("convert", tmp_path / "a.csv", tmp_path / "a.vw")
    assert "Not held by vw: times." in result.output


def test_json(log, tmp_path):
    out = tmp_path / "out"
    options = ("--to", "vw-adf", "--actions", 4, "--reward-range", -1, 0, "--json")
    result = invoke("convert", log, out, *options)
    data = json.loads(result.output)
    assert (data["target_format"], data["rounds"], data["skipped"]) == ("vw-adf", 3, 0)
    assert out.read_text().count("| a=") == 12
    again = invoke(
        "convert",
        out,
        tmp_path / "b.jsonl",
        "--from",
        "vw-adf",
        "--reward-range",
        -1,
        0,
        "--json",
    )
    assert json.loads(again.output)["mean_reward"] == data["mean_reward"]


def test_a_bad_row_is_one_line_and_nothing_is_written(log, tmp_path):
    result = invoke("convert", log, tmp_path / "log.csv")
    assert result.exit_code == 1
    assert len(result.output.splitlines()) == 1
    assert f"{log}, line 2: the reward -0.25 is outside [0, 1]" in result.output
    assert "--reward-range LOW HIGH" in result.output
    assert list(tmp_path.iterdir()) == [log]


def test_bad_rows_can_be_skipped(log, tmp_path):
    result = invoke("convert", log, tmp_path / "log.csv", "--skip-bad")
    assert result.exit_code == 0
    assert "rounds               1\n" in result.output
    assert f"skipped              2, see {tmp_path / 'log.csv.skipped.jsonl'}" in result.output
    lines = (tmp_path / "log.csv.skipped.jsonl").read_text().splitlines()
    assert [json.loads(line)["line"] for line in lines] == [2, 3]


def test_a_forgotten_out_costs_nothing(tmp_path):
    header = "context,action,propensity,reward\n"
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(f"{header}1,0,0.5,1\n")
    before = (tmp_path / "b.csv").read_text()
    result = invoke("convert", tmp_path / "a.csv", tmp_path / "b.csv")
    assert result.exit_code == 1
    assert f"{tmp_path / 'b.csv'} exists" in result.output
    assert "--overwrite" in result.output
    assert (tmp_path / "b.csv").read_text() == before
    meant = invoke("convert", tmp_path / "a.csv", tmp_path / "b.csv", "--overwrite")
    assert meant.exit_code == 0
    assert (tmp_path / "b.csv").read_text() != before


def test_unknown_formats_and_files(log, tmp_path):
    unknown = invoke("convert", log, tmp_path / "log.xls")
    assert unknown.exit_code == 1
    assert all(name in unknown.output for name in FORMATS)
    missing = invoke("convert", tmp_path / "none.csv", tmp_path / "log.csv")
    assert missing.exit_code == 1
    assert "no log at" in missing.output


def test_help_names_all_formats():
    words = invoke("convert", "--help").output.replace(",", " ").replace(".", " ").split()
    assert all(name in words for name in FORMATS)


def test_missing_rewards(tmp_path):
    (tmp_path / "a.csv").write_text("context,action,propensity,reward\n1,0,0.5,1\n2,1,0.5,\n")
    refused = invoke("convert", tmp_path / "a.csv", tmp_path / "a.parquet")
    assert refused.exit_code == 1
    assert "line 3: the reward is missing" in refused.output
    assert "--missing-reward 0" in refused.output
    result = invoke("convert", tmp_path / "a.csv", tmp_path / "a.parquet", "--missing-reward", 0)
    assert result.exit_code == 0, result.output
    assert Log.load(tmp_path / "a.parquet").rewards.tolist() == [[1.0], [0.0]]


def test_who_names_one_file_is_told_what_is_missing(log):
    result = invoke("convert", log)
    assert result.exit_code == 2
    assert f"name the file to write after those to read, got only {log}" in result.output.replace(
        "\n", " "
    )
