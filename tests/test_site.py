"""The site needs no other host, searches from disk, and says which version it describes."""

import runpy
import shutil
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
HOOKS = DOCS / "hooks.py"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)

WORKER = 'addEventListener("message", (event) => postMessage(event.data + 1));'
PAGE = """\
<!doctype html><body><script src="iframe-worker.js"></script><script>
const worker = new Worker("worker.js");
worker.addEventListener("message", (event) => { document.title = event.data; });
worker.postMessage(41);
</script></body>"""


@pytest.fixture
def browser():
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as tool:
        found = tool.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield found
        found.close()


def test_a_worker_runs_from_disk(browser, tmp_path):
    shutil.copy(DOCS / "assets" / "iframe-worker.js", tmp_path)
    (tmp_path / "worker.js").write_text(WORKER)
    (tmp_path / "page.html").write_text(PAGE)
    page = browser.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_function("document.title === '42'", timeout=10_000)


def test_the_picture_of_a_report_is_taken_by_its_script(browser, tmp_path):
    script = runpy.run_path(str(DOCS / "figures" / "make_report.py"))
    script["made"](tmp_path / "run.html")
    page = browser.new_page()
    page.goto((tmp_path / "run.html").as_uri())
    assert page.locator("h1").inner_text().startswith("Sieve recommends ")


def test_no_outside_host():
    yaml = pytest.importorskip("yaml")
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert config["theme"]["font"] is False
    assert [name for name in config["extra"]["polyfills"] if "iframe-worker" in name]
    for file in (
        config["theme"]["logo"],
        config["theme"]["favicon"],
        *config["extra"]["polyfills"],
    ):
        assert (DOCS / file).is_file()
    for sheet in config["extra_css"]:
        assert "url(" not in (DOCS / sheet).read_text(encoding="utf-8")


def test_the_site_says_which_version_it_describes():
    class Config:
        site_name, copyright = "PolicySieve", None

    config = runpy.run_path(str(HOOKS))["on_config"](Config())
    number = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert config.site_name == f"PolicySieve {number}"
    assert config.copyright.startswith(f"Made from PolicySieve {number}")


def test_badges_are_true(tmp_path, monkeypatch):
    script = DOCS / "figures" / "make_badges.py"
    monkeypatch.setattr("sys.argv", [script.name, str(tmp_path)])
    runpy.run_path(str(script))
    for badge in tmp_path.iterdir():
        assert badge.read_text() == (DOCS / "figures" / badge.name).read_text()
