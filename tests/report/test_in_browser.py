"""What only a browser can tell: the script runs, tables sort, both colour schemes are there."""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

from policysieve.report import Page, save_run_report
from tests.report.results import made_up_result

CHROMIUM = shutil.which("chromium")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

PROBE = """
const column = (n) => [...document.querySelectorAll("tbody tr")].map((r) => r.cells[n].innerText);
const seen = { paper: getComputedStyle(document.body).backgroundColor, orders: [] };
seen.overflows = document.scrollingElement.scrollWidth > innerWidth;
for (const n of [0, 1, 1]) {
  const head = document.querySelectorAll("thead th")[n];
  head.querySelector("button").click();
  seen.orders.push([head.getAttribute("aria-sort"), column(0)]);
}
seen.sorted = document.querySelectorAll("th[aria-sort]").length;
document.body.innerHTML = "<pre></pre>";
document.querySelector("pre").textContent = JSON.stringify(seen);
"""


def browse(page: Path, profile: Path, *, dark: bool = False) -> tuple[str, str]:
    """The page's elements after its script has run, and what the browser complained about."""
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
        f"--user-data-dir={profile}",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        "--window-size=500,900",
        "--dump-dom",
    ]
    done = subprocess.run(
        [str(CHROMIUM), *options, page.as_uri()],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, "\n".join(complaints)


def test_the_report_runs_without_complaint(tmp_path):
    save_run_report(made_up_result(), tmp_path / "run.html")
    elements, complaints = browse(tmp_path / "run.html", tmp_path / "profile")
    assert complaints == ""
    assert '<th scope="col"><button type="button">policy</button></th>' in elements


@pytest.mark.parametrize(
    ("dark", "paper"), [(False, "rgb(253, 253, 251)"), (True, "rgb(20, 24, 28)")]
)
def test_tables_sort_in_either_scheme(tmp_path, dark, paper):
    rows = [["policy 10", 2.0], ["policy 9", None], ["Policy 1", -1.0], ["policy 2", 10.0]]
    html = Page("t", "x" * 200).table(["name", "x"], rows, "c").html()
    html = re.sub(r"<meta http-equiv[^>]*>", "", html)  # it would rightly refuse the probe
    path = tmp_path / "page.html"
    path.write_text(html.replace("</body>", f"<script>{PROBE}</script></body>"), encoding="utf-8")
    elements, complaints = browse(path, tmp_path / "profile", dark=dark)
    assert complaints == ""
    seen = json.loads(unescape(re.search(r"<pre>(.*)</pre>", elements)[1]))
    assert seen["paper"] == paper
    assert seen["orders"] == [
        ["ascending", ["Policy 1", "policy 2", "policy 9", "policy 10"]],
        ["ascending", ["Policy 1", "policy 10", "policy 2", "policy 9"]],
        ["descending", ["policy 2", "policy 10", "Policy 1", "policy 9"]],
    ]
    assert seen["sorted"] == 1
    assert seen["overflows"] is False
