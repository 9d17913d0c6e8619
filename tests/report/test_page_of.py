"""From a result to its page, by one door."""

import subprocess
import sys

import pytest
from matplotlib.figure import Figure

from policysieve.errors import InvalidArgumentError
from policysieve.report import page_of
from policysieve.reported import Reported
from policysieve.simulate import RunResult
from tests.report.results import made_up_experiment, made_up_result
from tests.report.test_health_report import health
from tests.report.test_notebook import some_selection


@pytest.mark.parametrize("make", [made_up_result, lambda: made_up_experiment("Sieve"), health])
def test_every_result_has_its_page(make):
    page = page_of(make(), title="mine", command="typed")
    assert (page.title, page.made_by) == ("mine", "typed")


def test_a_result_derived_from_another_has_the_same_page():
    class Other(RunResult):
        pass

    run = made_up_result()
    assert page_of(Other(**vars(run))).html() == page_of(run).html()


def test_what_has_no_page():
    class Unknown(Reported):
        pass

    with pytest.raises(InvalidArgumentError, match=r"result must be one of .*RunResult.*got Unkn"):
        page_of(Unknown())


def test_results_load_no_pages():
    """Drawing is heavy: whoever only selects or runs does not wait for it."""
    code = (
        "import sys, policysieve.experiment, policysieve.simulate, policysieve.evidence; "
        "print([n for n in sys.modules if n.startswith(('policysieve.report.', 'matplotlib'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "make", [made_up_result, lambda: made_up_experiment("Sieve"), health, some_selection]
)
def test_plot_draws_the_figures_of_the_page(make, tmp_path):
    result = make()
    page_of(result).save_figures(tmp_path)
    names = {path.stem for path in tmp_path.glob("*.png")}
    assert names
    for name in names:
        assert isinstance(result.plot(name), Figure)
    assert isinstance(result.plot(), Figure)
    with pytest.raises(InvalidArgumentError, match=r"name must be one of .* got 'other'"):
        result.plot("other")


def test_plot_draws_what_the_page_leaves_out_as_words():
    figure = made_up_experiment("Sieve", truth=False).plot("suboptimality")
    assert "not known" in figure.axes[0].texts[0].get_text()


def test_a_figure_shows_itself_where_pyplot_does_not():
    assert made_up_result().plot()._repr_png_().startswith(b"\x89PNG")
