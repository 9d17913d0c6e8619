"""Help that helps: examples that work, one meaning for each option, completion in shells."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import defaultdict

import click
import numpy as np
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

import policysieve as ps
from policysieve.cli import main
from policysieve.cli.commands import _folded
from policysieve.cli.options.values import SomeOf
from tests.cli.test_cli import invoke

WIDTH = 80


def all_commands(command=main, path=()):
    yield path, command
    for name, one in getattr(command, "commands", {}).items():
        yield from all_commands(one, (*path, name))


COMMANDS = dict(all_commands())
LEAVES = {path: one for path, one in COMMANDS.items() if not hasattr(one, "commands")}
EXAMPLES = [example for one in COMMANDS.values() for example in one.examples]
every = pytest.mark.parametrize("path", list(COMMANDS), ids=" ".join)


@every
def test_help_ends_with_examples_of_the_command_itself(path):
    shown = invoke(*path, "--help").output
    examples = COMMANDS[path].examples
    assert examples
    assert all(one.split()[: len(path) + 1] == ["policysieve", *path] for one in examples)
    _, _, end = re.sub(r" \\\n\s+", " ", shown).partition("\nExamples:\n")
    assert end.splitlines() == [f"  {one}" for one in examples]
    assert max(map(len, shown.splitlines())) <= WIDTH


@every
def test_the_summary_fits_on_its_line(path):
    one = COMMANDS[path]
    if path:
        assert one.short_help.endswith(".")
        assert len(one.short_help) <= WIDTH - 2
        assert one.help


def understood(words):
    """The command of a line as it was typed, and what its options say."""
    context = main.make_context("policysieve", list(words))
    command = main
    while isinstance(command, click.Group):
        name, command, rest = command.resolve_command(
            context, [*context._protected_args, *context.args]
        )
        context = command.make_context(name, list(rest), parent=context)
    return command, context.params


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_are_understood(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(example)[1:]
    if "--help" in words:
        assert invoke(*words).exit_code == 0
        return
    if words[:2] == ["study", "tell"]:
        (tmp_path / "rewards.csv").write_text("id,reward\n")
    command, params = understood(words)
    assert command in LEAVES.values()
    assert params


def test_what_is_not_understood_is_found():
    with pytest.raises(click.NoSuchOption):
        understood(["plan", "--policy", "3"])


POL = """
import numpy as np
import policysieve as ps

policies = ps.PolicyTable(np.load("table.npy"), n_actions=5, names=["old", "new", "wild"])
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Files with the names that examples have."""
    folder = tmp_path_factory.mktemp("shop")
    rng = np.random.default_rng(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        np.save("table.npy", rng.integers(0, 5, (40, 3)))
        np.save("contexts.npy", rng.integers(0, 40, 30))
        np.save("users.npy", rng.integers(0, 40, 30))
        np.savez("weights.npz", weights=rng.normal(size=(3, 5, 2)))
        (folder / "pol.py").write_text(POL)
        log = ps.Log(
            contexts=rng.integers(0, 40, 400),
            actions=rng.integers(0, 5, (400, 1)),
            propensities=np.full((400, 1), 0.2),
            rewards=rng.integers(0, 2, (400, 1)).astype(float),
        )
        log.save("log.parquet")
        for name in ("monday.csv", "tuesday.csv", "clicks.csv"):
            done("convert", "log.parquet", name)
        done("convert", "log.parquet", "old.dat", "--to", "vw")
        rows = "".join(f"{k % 7},{k % 5},0.2,{k // 9 % 2}\n" for k in rng.permutation(400))
        (folder / "web.csv").write_text("age,item,p,clicked\n" + rows)
        done(*shlex.split(COMMANDS["design",].examples[0])[1:])
        studies = {"homepage": ps.PolicyTable(np.load("table.npy"), n_actions=10)}
        studies["people"] = ps.LinearPolicies(np.load("weights.npz")["weights"])
        for name, policies in studies.items():
            problem = ps.Problem(n_actions=policies.n_actions, epsilon=0.1, delta=0.05)
            made = ps.Study.create("sqlite:///shop.db", name, policies, problem, seed=0)
            contexts = [1, 2, 3] if name == "homepage" else np.ones((3, 2))
            made.ask(contexts[:1], ids=["order 16"])
            made.tell(["order 16"], [1.0])
            made.ask(contexts[1:], ids=["order 17", "order 18"])
            made.close()
        (folder / "rewards.csv").write_text("id,reward\norder 17,1\n")
    return folder


def done(*words):
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    return result


# What the commands make anew. Other commands take long, wait for requests, fetch from elsewhere or
# need the key of a token.
MADE = {
    ("plan",): "",
    ("check",): "health.html",
    ("select",): "page.html",
    ("design",): "design.npz",
    ("decide",): "decisions.parquet",
    ("convert",): "log.parquet",
    ("data", "list"): "",
    ("token", "create"): "",
    ("token", "list"): "",
    **{path: "" for path in LEAVES if path[0] == "study"},
}
MADE["study", "create"], MADE["study", "export"] = "shop.db", "log.parquet"
RUN = [(path, line) for path in MADE for line in COMMANDS[path].examples if "--every" not in line]


@pytest.mark.parametrize(("path", "example"), RUN, ids=str)
def test_examples_run(path, example, shop, tmp_path, monkeypatch):
    copy = tmp_path / "copy"
    shutil.copytree(shop, copy)
    monkeypatch.chdir(copy)
    if MADE[path]:
        (copy / MADE[path]).unlink(missing_ok=True)
    words = shlex.split(example)[1:]
    made = done(*words)
    assert "Note:" not in made.stderr
    for name in words:
        if words[words.index(name) - 1] in ("--out", "--report"):
            assert (copy / name).is_file()
    sys.modules.pop("pol", None)


def test_long_examples_are_broken_between_words():
    words = ["policysieve", *(f"--option-{k}" for k in range(12)), "'two words, in quotes'"]
    lines = _folded(" ".join(words))
    assert all(line.endswith(" \\") for line in lines[:-1])
    assert max(map(len, lines)) <= WIDTH - 2
    assert shlex.split("\n".join(lines).replace("\\\n", "")) == shlex.split(" ".join(words))


def test_an_option_means_the_same_everywhere():
    """The same kind of value, written in the same way; some commands take it by study."""
    meanings = defaultdict(set)
    for command in LEAVES.values():
        context = click.Context(command)
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                metavar = "" if option.is_flag else option.make_metavar(context)
                kind = type(option.type).__name__
                meaning = (metavar.removeprefix("[NAME=]"), kind, option.is_flag, option.nargs)
                meanings[option.opts[0]].add(meaning)
    assert len(meanings) > 50
    assert {name: found for name, found in meanings.items() if len(found) > 1} == {}


def test_delta_has_one_default():
    defaults = {
        option.default
        for command in LEAVES.values()
        for option in command.params
        if option.name == "delta"
    }
    assert defaults == {0.05}


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("5%", "'5%' is not a number; write 0.05"),
        ("0,05", "'0,05' is not a number; write 0.05"),
        ("2,5 %", "'2,5 %' is not a number; write 0.025"),
        ("small", "'small' is not a number, such as 0.05"),
    ],
)
@pytest.mark.parametrize("option", ["--epsilon", "--delta", "--sparsity"])
def test_numbers_in_another_spelling(option, typed, said):
    rest = () if option == "--epsilon" else ("--epsilon", 0.1)
    result = invoke("plan", "--actions", 10, "--n-policies", 5, *rest, option, typed)
    assert result.exit_code == 2
    if option == "--sparsity":
        said = said.replace("is not a number", "is neither a number nor the word unknown")
    assert f"Invalid value for '{option}': {said}" in result.output


class TestEarlierNames:
    """Of 0.1, whose names work on, with a note."""

    def test_of_plan(self):
        words = ("--actions", 10, "--epsilon", 0.1, "--json")
        before = invoke("plan", *words, "--policies", 50)
        assert before.stderr == "Note: --policies is called --n-policies from 0.2 on.\n"
        assert before.stdout == invoke("plan", *words, "--n-policies", 50).stdout
        assert invoke("plan", *words, "--policies=50").stdout == before.stdout

    @pytest.mark.parametrize(
        "path",
        [("demo",), ("run",)]
        + [("bench", name) for name in ("speed", "certificates", "samples", "scaling", "classify")],
        ids=" ".join,
    )
    def test_of_folders(self, path, tmp_path, capsys):
        command = LEAVES[path]
        words = ["--out", str(tmp_path), *(["some.toml"] if path == ("run",) else [])]
        context = command.make_context(path[-1], words)
        assert context.params["folder"] == tmp_path
        assert capsys.readouterr().err == "Note: --out is called --folder from 0.2 on.\n"

    def test_are_not_shown(self):
        for path in LEAVES:
            shown = invoke(*path, "--help").output
            assert "--plot" not in shown
        assert not {"--policies"} & {one for p in LEAVES["plan",].params for one in p.opts}


class TestCompletion:
    """By click, as the reference says how to turn it on."""

    @staticmethod
    def offered(words, incomplete):
        found = ShellComplete(main, {}, "policysieve", "_POLICYSIEVE_COMPLETE")
        return [item.value for item in found.get_completions(list(words), incomplete)]

    def test_in_a_shell(self):
        asked = {"COMP_WORDS": "policysieve se", "COMP_CWORD": "1"}
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                "from policysieve.cli import main; main(prog_name='policysieve')",
            ],
            env={**os.environ, **asked, "_POLICYSIEVE_COMPLETE": "bash_complete"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == ["plain,select", "plain,serve"]

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_scripts_for_shells(self, shell):
        if shell == "bash" and shutil.which("bash") is None:
            pytest.skip("no bash, whose version click asks for")
        runner = CliRunner(env={"_POLICYSIEVE_COMPLETE": f"{shell}_source"})
        made = runner.invoke(
            main, [], prog_name="policysieve", complete_var="_POLICYSIEVE_COMPLETE"
        )
        assert f"_POLICYSIEVE_COMPLETE={shell}_complete" in made.output

    def test_options_and_values(self):
        assert self.offered(["plan"], "--n") == ["--n-policies"]
        assert self.offered(["select", "--method"], "st") == ["stitched"]
        assert self.offered(["convert", "--to"], "vw") == ["vw", "vw-adf"]
        assert self.offered(["study", "create", "--learner"], "Exp") == [
            "ExplorationByOptimization",
            "Exp4",
        ]
        assert self.offered(["data", "get"], "let") == ["letter"]
        assert self.offered(["bench", "samples", "--learners"], "Uniform,Si") == [
            f"Uniform,{name}"
            for name in ("Sieve", "SieveWithVote", "SieveWithFittedVotes", "SieveOnFunctions")
        ]

    def test_names_that_are_typed_are_not_offered_again(self):
        kind = SomeOf(lambda: ["one", "two"])
        assert [item.value for item in kind.shell_complete(None, None, "one,")] == ["one,two"]
