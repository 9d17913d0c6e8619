"""The words of the README and of the docs: spelt right, in sentences that need one reading.

A sentence ends with a full stop, a question mark or an exclamation mark; a paragraph, an item of a
list and a cell of a table end one, too. Code counts as one word, addresses do not count.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Words of the longest sentence, and on average over a page; proofs have longer ones.
LIMITS = {"maths.md": (60, 22)}
USUAL_LIMITS = (35, 20)

ids = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def prose(text):
    """Paragraphs, items and cells of a page without code, links' addresses and emphasis."""
    text = re.sub(r"^```.*?^```", "\n", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^:::.*$|^#+ .*$|<[^>\n]+>", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"^\s*(?:[-*]|\d+\.) ", "\n\n", text, flags=re.MULTILINE)
    for block in re.split(r"\n\s*\n", text):
        for line in block.splitlines() if block.lstrip().startswith("|") else [block]:
            yield from line.split("|") if line.lstrip().startswith("|") else [line]


def sentences(text):
    """The words of each sentence of a page."""
    for part in prose(text):
        for sentence in re.split(r"(?<=[\w)\"*'\]][.!?])[*\")]*\s+", " ".join(part.split())):
            words = re.findall(r"[A-Za-zÀ-ÿ][\w'-]*", sentence)
            if words:
                yield words


@ids
def test_sentences_are_short(page):
    most, on_average = LIMITS.get(page.name, USUAL_LIMITS)
    found = list(sentences(page.read_text(encoding="utf-8")))
    assert [" ".join(words) for words in found if len(words) > most] == []
    long = [len(words) for words in found if len(words) > 3]  # others are labels
    if long:
        assert sum(long) / len(long) <= on_average


PAGE = """\
# A head

One. Two `of code`, [three](there.md)!

| a cell | two cells |

```text
no prose
```
"""


def test_long_sentences_are_found():
    assert [" ".join(words) for words in sentences(PAGE)] == [
        "One",
        "Two code three",
        "a cell",
        "two cells",
    ]
    assert [len(words) for words in sentences("- " + "word " * 40)] == [40]


def test_words_are_spelt_right():
    pytest.importorskip("codespell_lib")
    command = [sys.executable, "-m", "codespell_lib", *map(str, PAGES), str(ROOT / "CHANGELOG.md")]
    found = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert found.stdout + found.stderr == ""
    assert found.returncode == 0
