"""The notebooks run from top to bottom, show cards and figures, and are kept without outputs."""

import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="needs the extra dev")

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))

# What Jupyter's own packages find old-fashioned in each other is not ours.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)


def opened(path):
    return nbformat.read(path, as_version=4)


def check_own_table(outputs):
    shown = [output.data for output in outputs if "data" in output]
    cards = [data["text/html"] for data in shown if "border-radius" in data.get("text/html", "")]
    best = outputs[-1].text.split(": ")[1].strip()
    assert best in ("logistic", "nearest")  # which are close, and far from the other
    titles = [re.search(r"font-weight:600\">([^<]*)</span>", card)[1] for card in cards]
    selects = titles.pop(3)
    assert titles == ["Problem", "Log", "The health of a log", best]
    assert selects in ("The log selects logistic", "The log selects nearest")
    assert sum("image/png" in data for data in shown) == 1


CHECKS = {"own_table.ipynb": check_own_table}


@each
def test_it_runs_without_a_warning_and_leaves_no_kernel(path, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="needs the extra dev")
    pytest.importorskip("ipykernel", reason="needs the extra dev")
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    client = nbclient.NotebookClient(
        opened(path),
        timeout=120,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    done = client.execute()
    assert client.km is None or not client.km.has_kernel
    outputs = [output for cell in done.cells for output in cell.get("outputs", [])]
    assert not [output.text for output in outputs if output.get("name") == "stderr"]
    CHECKS[path.name](outputs)


@each
def test_it_is_kept_without_outputs(path):
    for cell in opened(path).cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@each
def test_it_is_listed(path):
    assert f"(examples/{path.name})" in (ROOT / "README.md").read_text(encoding="utf-8")
