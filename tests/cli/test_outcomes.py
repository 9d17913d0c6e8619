"""Outcomes, guardrails and segments on the command line."""

import json

import pytest

import policysieve as ps
from policysieve.cli.options.outcomes import OutcomeOptions
from policysieve.errors import InvalidArgumentError
from tests.cli.test_cli import invoke
from tests.evidence.test_segments import TABLE, shop

PROBLEM = ps.Problem(n_actions=3, epsilon=0.1, delta=0.2, against=0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outcomes")
    ps.PolicyTable(TABLE, 3).save(folder / "table.npy")
    shop(0, 3_000).save(folder / "log.parquet")
    return folder


def asked(folder, *arguments):
    common = ["--policies", folder / "table.npy", "--actions", 3, "--epsilon", 0.1, "--delta", 0.2]
    given = ["--sparsity", "unknown", "--against", 0, *arguments]
    return invoke("select", folder / "log.parquet", *common, *given)


def test_segments_are_printed_and_written(folder, tmp_path):
    result = asked(folder, "--segment", 0, "--report", tmp_path / "page.html")
    assert "By column 0" in result.output
    assert "higher" in result.output
    assert "For whom is it better?" in (tmp_path / "page.html").read_text()
    found = json.loads(asked(folder, "--segment", 0, "--json").output)["segments"]
    assert found["by"] == "column 0"
    assert {one["label"] for one in found["segments"]} == {"0", "1", "2"}
    assert "segments" not in json.loads(asked(folder, "--json").output)


def test_outcomes_and_guardrails_are_printed(folder):
    given = ("--outcome", "minutes", 0, 10, "--guardrail", "minutes", 9)
    result = asked(folder, *given)
    for words in ("Other outcomes, per round", "Guardrails: ", "minutes", "holds"):
        assert words in result.output
    found = json.loads(asked(folder, *given, "--json").output)
    assert found["guardrails"][0]["verdict"] == "holds"
    assert 0 <= found["outcomes"]["minutes"]["value"] <= 10


def test_what_is_typed_is_declared():
    typed = OutcomeOptions(
        outcome=(("sale", 0.0, 1.0), ("cost", 0.0, 9.0)),
        minimize_outcome=("cost",),
        guardrail=(("cost", 0.5),),
    )
    problem = typed.declared(PROBLEM)
    assert problem.outcomes == {"sale": ps.Outcome(0, 1), "cost": ps.Outcome(0, 9, "minimize")}
    assert problem.guardrails == {"cost": 0.5}
    nothing = OutcomeOptions(outcome=(), minimize_outcome=(), guardrail=())
    assert nothing.declared(PROBLEM) == PROBLEM
    with pytest.raises(InvalidArgumentError, match="--minimize-outcome must name an --outcome"):
        OutcomeOptions(outcome=(), minimize_outcome=("cost",), guardrail=()).declared(PROBLEM)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--guardrail", "sale", 0.1), "guardrails must be of declared outcomes"),
        (("--outcome", "sale", 0, 1), "log must have the outcome 'sale'"),
        (("--outcome", "minuts", 0, 1), "it has 'minutes'; did you mean 'minutes'?"),
        (
            ("--outcome", "minutes", 0, 10, "--guardrail", "minutes", -1),
            "the guardrail 'minutes' must be a finite number of at least 0, got -1",
        ),
        (("--segment", "country"), "segment must be the number of a column"),
    ],
)
def test_what_does_not_fit_is_an_error(folder, arguments, message):
    result = asked(folder, *arguments)
    assert result.exit_code
    assert message in " ".join(result.output.split())


def test_words_of_a_wide_table_are_whole(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    table = asked(folder, "--segment", 0).output.split("By column 0")[1].split("Limits of")[0]
    assert "difference" in table
    assert max(map(len, table.splitlines())) <= 80
