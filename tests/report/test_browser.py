"""What only a browser can tell: scripts run, figures are seen, tables sort, nothing sticks out."""

import json
import re
import shutil
import subprocess
from functools import cache
from html import escape, unescape
from pathlib import Path

import numpy as np
import pytest

import policysieve as ps
from policysieve.bench.pages import bench_page
from policysieve.report import Page, Table
from tests.bench.results import BENCHES
from tests.report.results import made_up_experiment, made_up_result
from tests.report.test_health_report import health

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

WIDTHS = {"phone": 390, "desk": 1200}
PAPER = {"light": "rgb(253, 253, 251)", "dark": "rgb(20, 24, 28)"}
FIGURES = {"run": 3, "selection": 1, "experiment": 3, "health": 1, "table": 0}
FIGURES |= {"speed": 2, "certificates": 1, "samples": 3, "scaling": 5, "classify": 1}

# Looks into every frame from outside, so that pages keep their own rules about scripts.
PROBE = """
const look = (frame) => {
  const page = frame.contentDocument, view = frame.contentWindow;
  const seen = (element) => element.getClientRects().length > 0;
  const boxes = [...page.querySelectorAll("figure svg")].filter(seen);
  const tables = [...page.querySelectorAll("table")];
  const order = (table) => [...table.tBodies[0].rows].map((row) => row.cells[0].innerText);
  for (const fold of page.querySelectorAll("details")) fold.open = true;
  const found = {
    paper: view.getComputedStyle(page.body).backgroundColor,
    overflows: page.scrollingElement.scrollWidth > frame.clientWidth,
    figures: boxes.map((svg) => [svg.getBoundingClientRect(), svg.querySelectorAll("path").length])
      .map(([box, paths]) => [box.width, box.height, paths]),
    texts: boxes.map((svg) => [...svg.querySelectorAll("text")].every((text) => {
      const [inner, outer] = [text.getBoundingClientRect(), svg.getBoundingClientRect()];
      return inner.left > outer.left - 8 && inner.right < outer.right + 8;
    })),
    captions: [...page.querySelectorAll("figcaption")].map((caption) => caption.innerText),
    headings: [...page.querySelectorAll("h2")].map((heading) => heading.innerText),
    scrolls: tables.every((table) => table.parentElement.clientWidth <= frame.clientWidth),
    sorts: [],
  };
  for (const table of tables) {
    table.tHead.rows[0].cells[0].querySelector("button").focus();
    const focused = page.activeElement.tagName;
    for (const click of [1, 2]) page.activeElement.click();
    found.sorts.push([focused, table.tHead.rows[0].cells[0].getAttribute("aria-sort")]);
  }
  if (frame.id.startsWith("table")) {
    found.orders = [0, 1, 1].map((column) => {
      tables[0].tHead.rows[0].cells[column].querySelector("button").click();
      return [tables[0].tHead.rows[0].cells[column].getAttribute("aria-sort"), order(tables[0])];
    });
    found.sorted = tables[0].querySelectorAll("th[aria-sort]").length;
  }
  return found;
};
window.addEventListener("load", () => {
  const found = {};
  for (const frame of document.querySelectorAll("iframe")) found[frame.id] = look(frame);
  document.body.innerHTML = "<pre></pre>";
  document.querySelector("pre").textContent = JSON.stringify(found);
});
"""


def browse(html: str, folder: Path, scheme: str) -> tuple[str, str]:
    """The page's elements after its scripts have run, and what the browser complained about."""
    page = folder / "page.html"
    page.write_text(html, encoding="utf-8")
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--enable-logging=stderr",
        f"--user-data-dir={folder / 'profile'}",
        f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}",
        "--window-size=1300,900",
        "--dump-dom",
    ]
    done = subprocess.run(
        [str(CHROMIUM), *options, page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, "\n".join(complaints)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Every kind of report, by name, as HTML."""
    folder = tmp_path_factory.mktemp("reports")
    rng = np.random.default_rng(0)
    contexts, actions = np.zeros(300, dtype=np.int64), rng.integers(0, 4, 300)
    log = ps.Log(
        contexts=contexts,
        actions=actions,
        propensities=np.full(300, 0.25),
        rewards=(actions == 1).astype(float),
    )
    problem = ps.Problem(n_actions=4, epsilon=0.3, delta=0.1)
    results = {
        "run": made_up_result(),
        "selection": ps.select(log, ps.PolicyTable(np.arange(4)[None, :], n_actions=4), problem),
        "experiment": made_up_experiment(*(f"learner number {i}" for i in range(9))),
        "health": health(),
    }
    for name, result in results.items():
        result.report(folder / name)
    rows = [["policy 10", 2.0], ["policy 9", None], ["Policy 1", -1.0], ["policy 2", 10.0]]
    table = Page("t", "x" * 200, made_by="y" * 200, configuration={"z" * 99: "z" * 99})
    return {
        **{name: (folder / name).read_text(encoding="utf-8") for name in results},
        **{kind: bench_page(kind, result).html() for kind, result in BENCHES.items()},
        "table": table.table(Table("c", ["name", "x"], rows)).html(),
    }


@pytest.fixture(scope="module")
def seen(pages, tmp_path_factory):
    """What the browser found in a colour scheme: by page and width, and its complaints."""

    @cache
    def look(scheme):
        frames = "\n".join(
            f'<iframe id="{name} {width}" style="width: {WIDTHS[width]}px; height: 800px" '
            f'srcdoc="{escape(html)}"></iframe>'
            for name, html in pages.items()
            for width in WIDTHS
        )
        html = f"<!DOCTYPE html><meta charset=utf-8><body>{frames}<script>{PROBE}</script>"
        elements, complaints = browse(html, tmp_path_factory.mktemp(scheme), scheme)
        return json.loads(unescape(re.search(r"<pre>(.*)</pre>", elements)[1])), complaints

    return look


@pytest.mark.parametrize("scheme", PAPER)
def test_no_complaints(seen, scheme):
    assert seen(scheme)[1] == ""


@pytest.mark.parametrize("scheme", PAPER)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", FIGURES)
def test_every_report_at_every_width(seen, name, width, scheme):
    found = seen(scheme)[0][f"{name} {width}"]
    assert found["paper"] == PAPER[scheme]
    assert found["overflows"] is False
    assert len(found["figures"]) == FIGURES[name]  # one of the two layouts of each
    for box_width, box_height, paths in found["figures"]:
        assert 250 < box_width <= WIDTHS[width]
        assert box_height > 40
        assert paths > 5
    assert all(found["texts"]), "a text sticks out of its figure"
    assert all(found["captions"])
    assert found["headings"][-1] == "How this was made"
    assert found["scrolls"] is True
    assert found["sorts"]
    assert found["sorts"] == [["BUTTON", "descending"]] * len(found["sorts"])


@pytest.mark.parametrize("width", WIDTHS)
def test_tables_sort(seen, width):
    found = seen("light")[0][f"table {width}"]
    # The tables were sorted down by name before.
    assert found["orders"] == [
        ["ascending", ["Policy 1", "policy 2", "policy 9", "policy 10"]],
        ["ascending", ["Policy 1", "policy 10", "policy 2", "policy 9"]],
        ["descending", ["policy 2", "policy 10", "Policy 1", "policy 9"]],
    ]
    assert found["sorted"] == 1


def test_complaints_would_be_heard(tmp_path):
    """Of a script that fails, and of one that the page's own rules refuse."""
    html = Page("t").html().replace("</body>", "<script>1</script></body>")
    frame = f'<iframe srcdoc="{escape(html)}"></iframe>'
    _, complaints = browse(f"<body>{frame}<script>throw new Error('x')</script>", tmp_path, "light")
    assert "Content Security Policy" in complaints
    assert "Uncaught Error: x" in complaints
