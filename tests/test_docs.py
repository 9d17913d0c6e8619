"""The documentation is true: its code runs, its commands exist, its links lead somewhere."""

import re
import runpy
import sys
from importlib import import_module
from pathlib import Path

import pytest

import policysieve as ps
from policysieve import formats
from tests.cli.test_cli import commands

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
TEXT = {page: page.read_text(encoding="utf-8") for page in PAGES}

ids = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def headings(text):
    return re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)


def anchor(heading):
    """What the address of a heading ends in."""
    return re.sub(r"[^\w\s-]", "", heading).strip().lower().replace(" ", "-")


@ids
def test_code_runs(page, tmp_path, monkeypatch, capsys):
    """The python blocks of a page, in one namespace; the text below one is just what it prints."""
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "docs"}
    printed = None
    for language, block in re.findall(
        r"^```(python|text)\n(.*?)^```", TEXT[page], flags=re.MULTILINE | re.DOTALL
    ):
        if language == "python":
            exec(compile(block, page.name, "exec"), namespace)
            printed = capsys.readouterr().out
        elif printed is not None:
            assert block == printed


def test_there_is_code_to_run():
    assert sum(len(blocks(text, "python")) for text in TEXT.values()) >= 5


@ids
def test_links_lead_somewhere(page):
    for target, place in re.findall(r"\]\(([^)#\s]*)(#[^)\s]*)?\)", TEXT[page]):
        if "://" in target:
            continue
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), target
        if place:
            assert place[1:] in map(anchor, headings(TEXT[path])), target + place


def test_every_page_is_in_the_navigation():
    listed = re.findall(r"- (?:.*: )?(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    pages = [page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")]
    assert sorted(listed) == sorted(pages)


# These need a browser: tests of the dashboard and of the site take them.
BY_BROWSER = {DOCS / "figures/make_dashboard.py", DOCS / "figures/make_report.py"}
SCRIPTS = sorted(set(DOCS.glob("figures/make_*.py")) - BY_BROWSER)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.name)
def test_figures_are_made_by_their_scripts(script, tmp_path, monkeypatch, capsys):
    pytest.importorskip("clarabel")
    monkeypatch.setattr(sys, "argv", [script.name, str(tmp_path)])
    runpy.run_path(str(script))
    made = {path.name for path in tmp_path.iterdir()}
    used = set(re.findall(r"figures/([\w-]+\.svg)", " ".join(TEXT.values())))
    assert made
    assert made <= used
    page = TEXT[DOCS / "sparse-rewards.md"]
    for line in capsys.readouterr().out.splitlines():
        assert f"| {' | '.join(line.split())} |\n" in page


REFERENCE = re.findall(
    r"^::: (\S+)$", "\n".join(map(TEXT.get, DOCS.glob("api/*.md"))), flags=re.MULTILINE
)
PUBLIC = [
    *(f"policysieve.{name}" for name in ps.__all__ if name not in ("scale", "theory", "worlds")),
    *(f"policysieve.worlds.{name}" for name in ps.worlds.__all__),
    *(f"policysieve.scale.{name}" for name in ps.scale.__all__),
    *(f"policysieve.theory.{name}" for name in ps.theory.__all__),
    *(f"policysieve.formats.{name}" for name in formats.__all__),
]


@pytest.mark.parametrize("name", [name for name in PUBLIC if "__" not in name])
def test_every_public_name_is_in_the_reference(name):
    assert REFERENCE.count(name) == 1


def test_names_of_the_reference_exist():
    for name in REFERENCE:
        home, _, last = name.rpartition(".")
        assert hasattr(import_module(home), last), name


def test_formulas_that_docstrings_name_are_linked():
    link = runpy.run_path(str(DOCS / "hooks.py"))["link_formulas"]
    html = '(docs/maths.md, "The\n Sieve" and &quot;Betting&quot;), docs/maths.md'
    assert link(html, "../maths.html") == (
        '(Formulas, <a href="../maths.html#the-sieve">The Sieve</a> and '
        '<a href="../maths.html#betting">Betting</a>), docs/maths.md'
    )


def test_parameters_in_a_list_have_their_own_types():
    pytest.importorskip("griffe")
    separated = runpy.run_path(str(DOCS / "griffe_parameters.py"))["separated"]
    text = "Parameters\n----------\na, b\n    As ever.\n    Two lines.\nc, d : int\n    Counts.\n"
    said = "    As ever.\n    Two lines.\n"
    assert separated(text) == text.replace(f"a, b\n{said}", f"a\n{said}b\n{said}")
    errors = "Raises\n------\nOSError, KeyError\n    Now and then."  # ends as a docstring does
    assert separated(errors) == (
        "Raises\n------\nOSError\n    Now and then.\nKeyError\n    Now and then.\n"
    )


@pytest.mark.parametrize("name", formats.FORMATS)
def test_every_format_is_documented(name):
    assert f"\n| `{name}` | " in TEXT[DOCS / "log-formats.md"]


@pytest.mark.parametrize("path", list(commands()), ids=" ".join)
def test_every_command_is_documented(path):
    heading = f"# policysieve {' '.join(path)}\n"
    assert heading in TEXT[DOCS / "command-line.md"]


def test_commands_in_the_docs_are_understood():
    from policysieve.cli import main

    for text in TEXT.values():
        for block in blocks(text, "console"):
            for line in block.splitlines():
                if line.startswith("policysieve "):
                    command, words = main, line.split()[1:]
                    while hasattr(command, "commands"):
                        command = command.commands[words.pop(0)]
                    command.make_parser(command.context_class(command)).parse_args(words)


def test_sections_that_docstrings_refer_to_exist():
    named = set()
    for source in (ROOT / "src").rglob("*.py"):
        joined = " ".join(source.read_text(encoding="utf-8").split())
        named |= set(re.findall(r'docs/maths\.md, "([^"]+)"', joined))
    assert named
    assert named <= set(headings(TEXT[DOCS / "maths.md"]))


@pytest.mark.parametrize("name", [name for name in ps.__all__ if not name.startswith("__")])
def test_every_public_name_has_a_docstring_or_is_a_module(name):
    assert getattr(ps, name).__doc__.strip()
