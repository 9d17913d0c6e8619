"""Take report.png, a picture of the report of one run, by Chromium.

Run it with `python docs/figures/make_report.py`; a folder as its argument takes the file.
"""

import sys
import tempfile
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import policysieve as ps

CHROMIUM = "/usr/bin/chromium"
TRAINING = 300


def made(file: Path) -> None:
    """The report of a run that chooses among classifiers of digits."""
    X, y = load_digits(return_X_y=True)
    models = {f"tree, depth {d}": DecisionTreeClassifier(max_depth=d, random_state=0)
              for d in range(2, 10)}  # fmt: skip
    models |= {f"{k} neighbours": KNeighborsClassifier(k) for k in (1, 5, 20, 80)}
    models |= {f"naive Bayes, {s:g}": GaussianNB(var_smoothing=s) for s in (1e-9, 1e-3, 0.1)}
    for model in models.values():
        model.fit(X[:TRAINING], y[:TRAINING])
    policies = ps.EstimatorPolicies(models, n_actions=10)
    world = ps.worlds.Classification(X[TRAINING:], y[TRAINING:])
    learner = ps.Sieve(policies, world.problem(epsilon=0.05, delta=0.05), rng=0)
    ps.run(learner, world, rng=0, progress=False).report(file)


def take(file: Path, picture: Path) -> None:
    """Take the picture of its first screen."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tool:
        browser = tool.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 900, "height": 1080}, device_scale_factor=1.5)
        page.goto(file.as_uri())
        page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    with tempfile.TemporaryDirectory() as scratch:
        made(Path(scratch) / "run.html")
        take(Path(scratch) / "run.html", target / "report.png")
