"""The examples run from top to bottom without a warning, and tell what their pages say."""

import contextlib
import importlib
import io
import os
import re
import runpy
import signal
import subprocess
import sys
import textwrap
import urllib.request
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import policysieve as ps
from policysieve.study import summaries
from tests.datasets import needs_dataset, needs_log
from tests.oracles.inverse_propensity import inverse_propensity
from tests.statistics import assert_binomial

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"


def run_example(name, folder):
    """Everything that an example has defined when it is done, and as "told" what it printed."""
    argv, told = sys.argv, io.StringIO()
    sys.argv = [name, str(folder)]
    try:
        with contextlib.redirect_stdout(told):
            made = runpy.run_path(str(EXAMPLES / name))
    finally:
        sys.argv = argv
    return {**made, "told": told.getvalue()}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_is_listed(path):
    assert f"(examples/{path.name})" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_fitted_models(tmp_path):
    needs_dataset("digits")
    made = run_example("fitted_models.py", tmp_path)
    truth, best = made["truth"], made["best"]
    assert made["proof"].suboptimality_bound > made["problem"].epsilon
    assert truth.max() - truth[best.policy] <= made["problem"].epsilon
    assert list(made["models"])[best.policy] in made["told"]
    assert (tmp_path / "models.png").stat().st_size > 1000


def test_text_intents(tmp_path):
    needs_dataset("r52")
    made = run_example("text_intents.py", tmp_path)
    right, best = made["right"], made["best"]
    assert right.max() - right[best.policy] <= made["problem"].epsilon
    assert made["learner"].rounds < 8000
    assert "with probability at least 0.95" in made["told"]
    log = ps.Log.load(tmp_path / "routed.parquet")
    assert len(log) == made["learner"].rounds
    assert isinstance(log.contexts[0], str)


def test_tag_slates(tmp_path):
    needs_dataset("yeast")
    made = run_example("tag_slates.py", tmp_path)
    truth, best = made["truth"], made["best"]
    assert truth.max() - truth[best.policy] <= made["problem"].epsilon
    assert made["shown"].actions.shape[1] == 3
    assert "slates of 3" in made["told"]
    assert (tmp_path / "tags.png").stat().st_size > 1000


@pytest.mark.parametrize("installed", [True, False])
def test_vowpal_wabbit_log(tmp_path, monkeypatch, installed):
    if installed:
        pytest.importorskip("vowpalwabbit")
    else:
        monkeypatch.setitem(sys.modules, "vowpalwabbit", None)
    made = run_example("vowpal_wabbit_log.py", tmp_path)
    told = made["told"]
    assert f"made by {'Vowpal Wabbit' if installed else 'a fixed rule'}" in told
    assert not made["health"].broken
    # Sports and politics, told apart by the time of day, are the best of these rules.
    rates = np.array(list(made["RATES"].values()))
    times = [time == "morning" for _, time in made["RATES"]]
    devices = [device == "phone" for device, _ in made["RATES"]]
    worth = [
        np.mean([rates[i, yes if flag else no] for i, flag in enumerate(flags)])
        for flags in (devices, times)
        for yes, no in made["pairs"]
    ]
    assert max(worth) - worth[made["selection"].policy] <= made["problem"].epsilon
    assert made["selection"].certificate.certified
    assert (tmp_path / "weights.png").stat().st_size > 1000


KINDS = {
    "lightgbm": "booster",
    "onnxruntime": "onnx",
    "vowpalwabbit": "vowpal wabbit",
    "river": "river",
}


@pytest.mark.parametrize("package", [None, *KINDS])
def test_every_kind_of_model(tmp_path, monkeypatch, package):
    """With one of the packages at a time, and with none of them."""
    if package is not None:
        for needed in (package, "skl2onnx") if package == "onnxruntime" else (package,):
            pytest.importorskip(needed, reason=f"{needed} is not among what tests install")
    for other in KINDS:
        if other != package:
            monkeypatch.setitem(sys.modules, other, None)
    made = run_example("every_kind_of_model.py", tmp_path)
    assert made["told"].count("is not installed: left out") == len(KINDS) - (package is not None)
    ours = [] if package is None else [KINDS[package]]
    assert list(made["candidates"]) == ["pipeline", "probabilities", *ours]
    assert all(share > 0.75 for share in made["taken"].values())
    assert made["best"].certified
    assert f"among {2 + len(ours)}: {made['best'].policy_name}." in made["told"]
    answers = made["fitted"].actions(made["X"])[:, :, 0]
    both = made["policies"].actions(made["X"], which=["pipeline", "probabilities"])[:, :, 0]
    assert np.array_equal(answers, both)


def test_the_page_of_candidates_shows_the_example():
    """Blocks that need packages which tests may not have are lines of what is tested above."""
    example = (EXAMPLES / "every_kind_of_model.py").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "candidates.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```py\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == len(KINDS)
    for block in blocks:
        assert textwrap.indent(block, "    ") in example


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    for name in ("random", "bts"):
        needs_log(f"open-bandit-{name}")
    return run_example("open_bandit.py", tmp_path_factory.mktemp("open-bandit"))


class TestOpenBandit:
    @pytest.fixture(params=["log", "past"])
    def judged(self, request, made):
        """A log, our estimates, and each policy as probabilities of actions in each round."""
        log, policies = made[request.param], made["policies"]
        estimates = ps.select(log, policies, made["problem"]).values
        chosen = policies.actions(log.contexts)[:, :, 0]
        return log, [(estimates[i], np.eye(80)[chosen[:, i]]) for i in range(len(estimates))]

    def test_estimates_are_those_of_inverse_propensity_weighting(self, judged):
        log, policies = judged
        columns = [c[:, 0].tolist() for c in (log.actions, log.propensities, log.rewards)]
        for estimate, distribution in policies:
            expected = inverse_propensity(*columns, distribution)
            assert estimate == pytest.approx(expected, abs=1e-9)

    def test_estimates_are_those_of_open_bandit_pipeline(self, judged, made):
        estimators = pytest.importorskip("obp.ope.estimators")
        log, policies = judged
        for estimate, distribution in policies:
            expected = estimators.InverseProbabilityWeighting().estimate_policy_value(
                reward=log.rewards[:, 0],
                action=log.actions[:, 0].astype(int),
                pscore=log.propensities[:, 0],
                action_dist=np.repeat(distribution[:, :, None], 3, axis=2),
                position=log.contexts[:, made["PLACE"]].astype(int),
            )
            assert estimate == pytest.approx(expected, abs=1e-9)

    def test_policies_are_not_fitted_on_what_judges_them(self, made):
        assert made["past"].propensities.min() < made["log"].propensities.min() == 1 / 80
        assert len(made["past"]) == len(made["log"]) == 10_000

    def test_certifies_little(self, made):
        proof = made["selection"].certificate
        assert not proof.certified
        assert not proof.eliminated.any()
        assert made["sizes"].uniform_rounds > 10_000 * len(made["log"])

    def test_the_page_says_what_was_told(self, made):
        page = (ROOT / "docs" / "open-bandit.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```text\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
        said = [line for block in blocks for line in block.splitlines() if line]
        assert len(said) > 10
        told = made["told"].splitlines()
        assert [line for line in said if line not in told] == []


def test_support_tickets(tmp_path):
    made = run_example("support_tickets.py", tmp_path)
    assert made["curve"][-1] > 0.75 > made["curve"][0]
    assert made["own"].lower > 1 / len(made["intents"])
    other = made["colleague"].score(made["new_rows"], made["new_intents"])
    assert made["other"].lower < other < made["other"].upper
    assert (tmp_path / "support_tickets.png").stat().st_size > 1000


@pytest.fixture
def shop(monkeypatch):
    """The modules of the example shop."""
    monkeypatch.syspath_prepend(str(EXAMPLES / "shop"))
    names = ("shop", "people")
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield [importlib.import_module(name) for name in names]
    for name in names:
        sys.modules.pop(name, None)


class TestShop:
    def test_few_departments_are_good_and_the_best_rule_is_the_one_that_uses_both(self, shop):
        rules, people = shop
        crowd = people.People(seed=1)
        visitors = [crowd.visitor() for _ in range(2000)]
        names = np.array(rules.DEPARTMENTS)
        shown = names[rules.policies.actions(visitors)[:, :, 0]]
        chances = [
            [crowd.chance(v, one) for one in row] for v, row in zip(visitors, shown, strict=True)
        ]
        worth = np.mean(chances, axis=0)
        assert rules.policies.names[worth.argmax()] == "last order, else weather"
        assert np.sort(worth)[-2] < worth.max() - 0.02  # the demo's epsilon
        good = [sum(crowd.chance(v, one) > 0.1 for one in names) for v in visitors]
        assert max(good) <= 2

    def test_people_click_sometimes_late_or_never_say_a_word(self, shop):
        crowd = shop[1].People(seed=2)
        visitor = {"last_order": "tents", "weather": "rain"}
        answers = [crowd.answer(visitor, "sleeping bags") for _ in range(2000)]
        heard = [one for one in answers if one is not None]
        assert_binomial(sum(one.reward for one in heard), 2000, 0.30)
        assert_binomial(len(answers) - len(heard), 2000, 0.70 * 0.10)
        assert 0 < sum(one.seconds > 20 for one in heard) < 100

    def test_the_demo_runs_and_closes_when_it_is_told_to(self, tmp_path):
        demo = [sys.executable, str(EXAMPLES / "shop" / "demo.py"), "--port", "0"]
        demo += ["--folder", str(tmp_path), "--rate", "20", "--pace", "20", "--every", "0.5"]
        heeds = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # also if a shell hides it
        with subprocess.Popen(demo, stdout=subprocess.PIPE, text=True, preexec_fn=heeds) as running:
            lines = iter(running.stdout.readline, "")
            address = next(line for line in lines if "The shop is open" in line).split()[-1]
            assert address.startswith("http://127.0.0.1:")
            said = next(line for line in lines if re.match(r"\d+ visits, [1-9]", line))
            assert "0 failures" in said
            running.send_signal(signal.SIGINT)
            assert "Closing the shop.\n" in lines
            assert running.wait(60) == 0
        (study,) = summaries(f"sqlite:///{tmp_path / 'shop.db'}")
        assert 0 < study.settled <= study.rounds
        with pytest.raises(OSError, match="refused"):
            urllib.request.urlopen(address, timeout=5)

    def test_the_demo_ends_by_itself(self, tmp_path):
        demo = [sys.executable, str(EXAMPLES / "shop" / "demo.py"), "--port", "0"]
        done = subprocess.run(
            demo, env={**os.environ, "DEMO_SECONDS": "1"}, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert "visits" in done.stdout
