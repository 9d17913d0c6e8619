"""A real browser walks through the pages: with and without scripts, by keyboard, in both themes."""

import re
import runpy
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from policysieve.service import Settings
from policysieve.service.tokens import create_token
from policysieve.study.storage import Storage
from tests.service.dashboard.cases import HOSTILE, with_studies
from tests.service.serving import ask, create, serving, tell
from tests.waiting import until

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

STUDIES = ("running", "proved", "empty", "large")
WIDTHS = (360, 768, 1280)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as tool:
        found = tool.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield found
        found.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("policysieve.study.storage._SYNCHRONOUS", "OFF")
        url, classes = with_studies(tmp_path_factory.mktemp("site"))
        with serving(url, classes) as client:
            yield client


@contextmanager
def visiting(browser, client, **options):
    """A page that must see no error, no other host, and nothing that its policy forbids."""
    context = browser.new_context(base_url=str(client.base_url), **options)
    page, wrong = context.new_page(), []
    page.on("console", lambda m: m.type in ("error", "warning") and wrong.append(m.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(dialog.message) or dialog.dismiss())

    def check(request):
        if not request.url.startswith(str(client.base_url)):
            wrong.append(request.url)

    page.on("request", check)
    page.set_default_timeout(20_000)
    yield page
    context.close()
    assert wrong == []


def value(page, label):
    return page.locator(".pairs div", has=page.get_by_text(label, exact=True)).locator("dd")


def test_from_the_list_to_a_study_that_lives(browser, tmp_path):
    with serving(create(tmp_path, rounds=8)) as client, visiting(browser, client) as page:
        page.goto("/")
        page.get_by_role("link", name="shop").click()
        page.wait_for_url("**/studies/shop")
        page.get_by_role("button", name="live").wait_for()
        assert value(page, "decided").inner_text() == "40"
        decided = ask(client, 2).json()["decisions"]
        until(lambda: value(page, "decided").inner_text() == "42")
        tell(client, [one["id"] for one in decided], [1.0, 0.0])
        until(lambda: value(page, "told").inner_text() == "42")
        page.get_by_role("button", name="live").click()
        assert page.get_by_role("button", name="paused").get_attribute("aria-pressed") == "false"


def test_the_first_round_brings_an_empty_page_to_life(browser, tmp_path):
    with serving(create(tmp_path)) as client, visiting(browser, client) as page:
        page.goto("/studies/shop")
        page.get_by_role("heading", name="Ready for the first round").wait_for()
        page.get_by_role("button", name="live").wait_for()
        ask(client, 2)
        page.get_by_role("heading", name="Rounds and answers").wait_for()


def test_candidates_are_found_as_one_types(browser, site):
    with visiting(browser, site) as page:
        page.goto("/studies/large")
        rows = page.locator("[role=rowheader]")
        assert rows.count() == 20
        page.get_by_label("Find candidates by name").fill("number 77")
        until(lambda: rows.count() == 11)
        assert "find=number+77" in page.url
        page.reload()
        assert rows.count() == 11
        page.get_by_label("Which candidates").select_option("in")
        until(lambda: rows.count() < 11)


def test_lines_are_copied_and_work(browser, site):
    with visiting(browser, site, permissions=["clipboard-read", "clipboard-write"]) as page:
        page.goto("/studies/running")
        page.get_by_text("JavaScript", exact=True).click()
        page.get_by_role("button", name="Copy the lines for JavaScript").click()
        page.get_by_text("Copied").wait_for()
        lines = page.evaluate("navigator.clipboard.readText()")
        before = site.get("/v1/studies/running/status").json()
        page.evaluate(f"(async () => {{ {lines} }})()".replace("console.log", "void "))
        after = site.get("/v1/studies/running/status").json()
        assert after["rounds"] == before["rounds"] + 1
        assert after["told"] == before["told"] + 1


def test_signing_in_acting_and_signing_out(browser, tmp_path):
    url = create(tmp_path, rounds=4)
    _, text = create_token(Storage(url), "boss", ["admin"])
    create_token(Storage(url), "till", ["tell"])
    with (
        serving(url, settings=Settings(token_seconds=0)) as client,
        visiting(browser, client) as page,
    ):
        page.goto("/studies/shop")
        page.get_by_label("Token").fill("ps_wrong")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("alert").wait_for()
        page.get_by_label("Token").fill(text)
        page.keyboard.press("Enter")
        page.get_by_role("link", name="shop").click()
        page.get_by_role("button", name="live").wait_for()
        page.get_by_role("link", name="Archive").click()
        page.get_by_role("link", name="Keep it running").click()
        page.get_by_role("link", name="Archive").click()
        page.get_by_role("button", name="Archive it").click()
        page.get_by_text("The study is archived").wait_for()
        page.get_by_role("link", name="Tokens").click()
        page.get_by_role("link", name="Revoke… till").click()
        page.get_by_role("button", name="Revoke it").click()
        page.get_by_text("revoked").wait_for()
        page.get_by_role("button", name="Sign out").click()
        page.get_by_role("heading", name="Sign in").wait_for()
        page.goto("/studies/shop")
        page.get_by_role("heading", name="Sign in").wait_for()


def test_everything_is_there_without_scripts(browser, tmp_path):
    url = create(tmp_path, rounds=30)
    with (
        serving(url) as client,
        visiting(browser, client, java_script_enabled=False) as page,
    ):
        page.goto("/")
        page.get_by_role("link", name="shop").click()
        for heading in ("The proof", "Candidates", "Rounds and answers", "Health and drift"):
            page.get_by_role("heading", name=heading, exact=True).wait_for()
        page.get_by_label("Find candidates by name").fill("policy 3")
        page.get_by_role("button", name="Find").click()
        page.wait_for_url("**find=policy+3**")
        assert page.locator("[role=rowheader]").all_inner_texts() == ["policy 3"]
        page.get_by_role("link", name="Archive").click()
        page.get_by_role("button", name="Archive it").click()
        page.get_by_text("The study is archived").wait_for()


def test_a_keyboard_is_enough(browser, tmp_path):
    """Tab by tab to a study and its filter, and it is always seen where one is."""
    with serving(create(tmp_path, rounds=30)) as client, visiting(browser, client) as page:
        page.goto("/")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        seen = []
        for _ in range(10):
            page.keyboard.press("Tab")
            seen.append(page.evaluate("document.activeElement.textContent"))
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none", seen
            if seen[-1] == "shop":
                break
        assert seen[-1] == "shop"
        page.keyboard.press("Enter")
        page.wait_for_url("**/studies/shop")
        page.get_by_role("button", name="live").wait_for()
        for _ in range(30):
            page.keyboard.press("Tab")
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
            if page.evaluate("document.activeElement.id") == "find":
                break
        page.keyboard.type("policy 3")
        until(lambda: page.locator("[role=rowheader]").count() == 1)
        assert page.evaluate("document.activeElement.id") == "find", "the focus stays"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_sticks_out_and_checks_are_clean(browser, site, scheme):
    """At every width: no sideways scrolling, and no violation that axe-core knows of."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with visiting(browser, site, color_scheme=scheme) as page:
        for path in ("/", *(f"/studies/{name}" for name in STUDIES), "/sign-in", "/tokens"):
            page.goto(path)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 800})
                wide = page.evaluate("document.scrollingElement.scrollWidth")
                assert wide <= width, (path, width)
            found = axe.run(page)
            assert found.violations_count == 0, (path, found.generate_report())


def test_hostile_names_are_harmless(browser, site):
    with visiting(browser, site) as page:
        page.goto("/")
        page.get_by_role("link", name=HOSTILE).click()
        page.get_by_role("heading", name=HOSTILE).wait_for()
        page.get_by_role("button", name="live").wait_for()
        assert page.locator("main img").count() == 0
        assert re.search("<script>alert", page.locator("#live-candidates").inner_text())


def test_the_pictures_of_the_docs_are_taken_by_their_script(tmp_path):
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    docs = Path(__file__).parents[3] / "docs"
    script = runpy.run_path(str(docs / "figures" / "make_dashboard.py"))
    with serving(create(tmp_path, "homepage", rounds=8)) as client:
        _in_a_thread(script["take"], str(client.base_url).rstrip("/"), tmp_path)
    made = {path.name for path in tmp_path.glob("*.png")}
    kept = {path.name: path.stat().st_size for path in docs.glob("figures/dashboard-*.png")}
    used = set(re.findall(r"figures/(dashboard-[\w-]+\.png)", (docs / "service.md").read_text()))
    assert made == set(kept) == used
    assert max(kept.values()) < 300_000


def _in_a_thread(function, *arguments):
    """Playwright wants no loop in its thread, and the fixture of this module has one."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(function, *arguments).result()
