import io

import numpy as np
import pytest

import policysieve as ps
from policysieve.report import mean_weights
from policysieve.report.health_report import change_over_time
from tests.health import logs
from tests.report.documents import Document


def health(breakage=None, n=3000):
    rng = np.random.default_rng(0)
    contexts, shares, actions = logs.follower(rng, n)
    if breakage is None:
        return ps.check_log(logs.log_of(contexts, actions, logs.shown(shares, actions)))
    return ps.check_log(logs.log_of(*breakage(rng, contexts, shares, actions)), n_actions=6)


CASES = [health(), health(logs.filtered), health(logs.clipped_to_tiny), health(n=2)]


@pytest.mark.parametrize("case", CASES, ids=["healthy", "filtered", "tiny", "two rounds"])
def test_every_log_can_be_drawn_and_reported(case, tmp_path):
    buffer = io.BytesIO()
    mean_weights(case).savefig(buffer, format="png", dpi=40)
    assert buffer.getvalue().startswith(b"\x89PNG")
    case.report(tmp_path / "report.html")
    document = Document((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert case.verdict in document.text_of("p")
    assert any(case.legend in caption for caption in document.text_of("figcaption"))
    assert {one.name for one in case.findings} <= set(document.text_of("th"))
    for one in case.findings:
        assert (one.sentence in document.text_of("p")) == (one.verdict != "ok")
    assert len(document.tags("svg")) == 2
    assert "nan" not in " ".join(text for tag, text in document.texts if tag != "style").lower()


def test_what_is_off_is_drawn_apart():
    names = [text.get_text() for text in mean_weights(CASES[0]).legends[0].get_texts()]
    assert names == ["may be 1"]
    figure = mean_weights(health(logs.filtered))
    axes = figure.axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[0] == "whole log"
    assert labels[1] == "rounds 0 to 255"
    assert labels[12] == "rounds 2,816 to 2,999"
    assert labels[13:] == [f"action {action}" for action in range(6)]
    (off,) = [line for line in axes.lines if line.get_label() == "is not 1"]
    places = dict(zip(axes.get_yticks(), labels, strict=True))
    assert {"action 0", "action 1"} <= {places[y] for y in off.get_ydata()}


def test_one_huge_weight_does_not_squeeze_the_others():
    assert mean_weights(health(logs.clipped_to_tiny)).axes[0].get_xlim() == (0, 10.5)


def test_the_title_can_be_chosen(tmp_path):
    CASES[0].report(tmp_path / "report.html", title="March & April")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert Document(html).text_of("title") == ["March & April"]


def test_a_changed_world_has_its_figure(tmp_path):
    n, rng = 4000, np.random.default_rng(0)
    actions = rng.integers(0, 2, n)
    rewards = rng.random(n) < np.where((actions == 0) ^ (np.arange(n) < n // 2), 0.2, 0.7)
    log = ps.Log(
        contexts=np.zeros(n, int), actions=actions, propensities=np.full(n, 0.5), rewards=rewards
    )
    changed = ps.check_log(log)
    axes = change_over_time(changed.change).axes[0]
    lines = {line.get_label(): line.get_xdata()[0] for line in axes.lines}
    assert lines["most probable change"] == changed.change.split
    assert lines["proved"] == changed.change.alarm
    changed.report(tmp_path / "report.html", figures=tmp_path / "figures")
    assert (tmp_path / "figures" / "change.png").exists()
    document = Document((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert any(
        text.startswith("The mean reward of action") for text in document.text_of("figcaption")
    )
