"""The documentation is true: its code runs, its commands exist, its links lead somewhere."""

import re
from pathlib import Path

import pytest

import policysieve as ps
from tests.cli.test_cli import commands

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXT = {page: page.read_text(encoding="utf-8") for page in PAGES}

ids = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


@ids
def test_code_runs(page, tmp_path, monkeypatch):
    """The python blocks of a page, one after the other in one namespace."""
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "docs"}
    for block in blocks(TEXT[page], "python"):
        exec(compile(block, page.name, "exec"), namespace)


def test_there_is_code_to_run():
    assert sum(len(blocks(text, "python")) for text in TEXT.values()) >= 5


@ids
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", TEXT[page]):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("path", list(commands()), ids=" ".join)
def test_every_command_is_documented(path):
    heading = f"# policysieve {' '.join(path)}\n"
    assert heading in TEXT[ROOT / "docs" / "command-line.md"]


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
    headings = set(re.findall(r"^#+ (.*)$", TEXT[ROOT / "docs" / "maths.md"], flags=re.MULTILINE))
    named = set()
    for source in (ROOT / "src").rglob("*.py"):
        joined = " ".join(source.read_text(encoding="utf-8").split())
        named |= set(re.findall(r'docs/maths\.md, "([^"]+)"', joined))
    assert named
    assert named <= headings


@pytest.mark.parametrize("name", [name for name in ps.__all__ if not name.startswith("__")])
def test_every_public_name_has_a_docstring_or_is_a_module(name):
    assert getattr(ps, name).__doc__.strip()
