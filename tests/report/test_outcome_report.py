"""What pages, cards and figures say of outcomes, guardrails and segments."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import policysieve as ps
from policysieve.report import page_of
from tests.evidence.test_segments import NAMES, TABLE, shop

GUARDED = ps.Problem(
    n_actions=3,
    sparsity=None,
    epsilon=0.1,
    delta=0.2,
    against="today",
    outcomes={"minutes": (0, 10)},
    guardrails={"minutes": 9.0},
)


@pytest.fixture(scope="module")
def selection():
    policies = ps.PolicyTable(TABLE, n_actions=3, names=["today", "new"])
    return ps.select(shop(0, 2_000), policies, GUARDED, segment=NAMES.__getitem__)


def test_the_page_of_a_selection_has_them(selection, tmp_path):
    html = page_of(selection).html()
    for words in ("Other outcomes", "Guardrails: ", "For whom is it better?", "norway", "holds"):
        assert words in html
    assert selection.segments.guarantee.split(";")[0] in html
    assert "guardrail on minutes" in html
    page_of(selection).save_figures(tmp_path)
    assert {path.stem for path in tmp_path.glob("*.png")} == {"leaders", "segments"}
    for name in (None, "leaders", "segments"):
        assert isinstance(selection.plot(name), Figure)


def test_segments_have_a_page_a_card_and_a_figure(selection, tmp_path):
    found = selection.by_segment(np.arange(2_000) % 2, outcome="minutes")
    found.report(tmp_path / "page.html", title="mine")
    assert "<h1>mine</h1>" in (tmp_path / "page.html").read_text()
    assert "For whom is" in found._repr_html_()
    (axes, *_) = found.plot().axes
    assert axes.get_xlabel().startswith("minutes per round")


def test_cards_say_what_holds(selection):
    assert "Guardrail on minutes" in selection._repr_html_()
    assert "Guardrail on minutes" in GUARDED._repr_html_()
    best = ps.Recommendation(
        policy=0,
        value=0.5,
        lower=0.1,
        upper=0.9,
        suboptimality_bound=0.2,
        certified=True,
        rounds=9,
        guarantee="Of itself.",
        outcomes={"minutes": ps.OutcomeValue(3.0, 1.0, 7.0)},
        guardrails=selection.guardrails,
    )
    for words in ("Outcome minutes", "Guardrail on minutes"):
        assert words in best._repr_html_()


def test_what_was_not_asked_for_is_not_there():
    policies = ps.PolicyTable(TABLE, n_actions=3)
    plain = ps.Problem(n_actions=3, sparsity=None, epsilon=0.1, delta=0.2)
    selection = ps.select(shop(0, 200), policies, plain)
    html = page_of(selection).html()
    assert "Other outcomes" not in html
    assert "For whom" not in html
    with pytest.raises(ps.InvalidArgumentError, match="no figure of segments"):
        selection.plot("segments")
