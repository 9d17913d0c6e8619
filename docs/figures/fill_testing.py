"""Count what the tests are made of, and put the numbers into the tables of `docs/testing.md`.

Run it with `python docs/figures/fill_testing.py`. Numbers of the tests themselves are rounded to
two digits, so that the page need not change with every test; those of benchmarks are the stored
ones.
"""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "testing.md"


@cache
def counted() -> dict[str, int]:
    """What is in the repository, by the words of the page."""
    tests = list(_functions("tests", "test_"))
    contracts = list(_contracts())
    return {
        "lines of the package": _lines("src"),
        "lines of tests": _lines("tests"),
        "test functions, many of which run on several cases": len(tests),
        "of these, on inputs that Hypothesis makes up": _decorated(tests, "given"),
        "oracles: modules of slow, obvious code that imports nothing of ours": len(
            list((ROOT / "tests" / "oracles").glob("[a-z]*.py"))
        ),
        "compiled kernels": _decorated(_functions("src/policysieve/kernels"), "kernel"),
        "promises in the contracts of learners, policies and worlds": sum(
            len(promises) for promises in contracts
        ),
        "blocks of Python in the docs, which all run": sum(
            len(re.findall(r"^```python$", page.read_text(encoding="utf-8"), re.MULTILINE))
            for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
        ),
    }


def measured() -> dict[str, tuple[int, int]]:
    """How often something was tried, and how often it went wrong, in stored results."""
    certificates, faults = _stored("certificates"), _stored("faults")
    writers = {
        name: sum(sum(one[key] for key in wrong) for one in faults[name])
        for name, wrong in (
            ("kills", ("broken", "lost", "left_over", "failed")),
            ("at_once", ("broken", "failed", "left_over")),
            ("full", ("foreign", "silent", "broken", "left_over")),
        )
    }
    calls, threads, interrupts = (faults[name] for name in ("calls", "threads", "interrupts"))
    return {
        "calls with hostile arguments": (
            calls["inputs_tried"],
            len(calls["foreign"]) + len(calls["changed"]),
        ),
        "writers that were killed": (_total(faults["kills"], "kills"), writers["kills"]),
        "reads while two processes wrote": (
            _total(faults["at_once"], "reads"),
            writers["at_once"],
        ),
        "writes on a full disk": (_total(faults["full"], "tried"), writers["full"]),
        "rounds of eight threads at once": (
            threads["rounds"],
            len(threads["errors"]) + sum(threads[key] for key in ("lost", "doubled", "wrong")),
        ),
        "calls that were interrupted": (
            interrupts["interrupted"],
            sum(interrupts[key] for key in ("lost", "doubled", "different")),
        ),
        "runs on null worlds, in which a false certificate is allowed with probability "
        f"{certificates['false'][0]['delta']:g}": (
            _total(certificates["false"], "runs"),
            _total(certificates["false"], "false"),
        ),
    }


def rounded(number: int) -> int:
    """A number with two digits."""
    step = max(1, 10 ** (len(str(number)) - 2))
    return round(number / step) * step


def filled(page: str) -> str:
    """The page with the numbers of today."""
    first = [f"| {what} | {rounded(number):,} |" for what, number in counted().items()]
    second = [f"| {what} | {tried:,} | {wrong:,} |" for what, (tried, wrong) in measured().items()]
    for head, rows in (("| there are | about |", first), ("| tried | times | wrong |", second)):
        start = page.index(head)
        start = page.index("\n", page.index("\n", start) + 1) + 1
        page = page[:start] + "\n".join(rows) + "\n" + page[page.index("\n\n", start - 1) + 1 :]
    return page


def _stored(name: str) -> Any:
    return json.loads((ROOT / "benchmarks" / name / f"{name}.json").read_text(encoding="utf-8"))


def _total(rows: list[dict[str, int]], key: str) -> int:
    return sum(row[key] for row in rows)


def _trees(folder: str) -> Iterator[ast.Module]:
    for path in sorted((ROOT / folder).rglob("*.py")):
        yield ast.parse(path.read_text(encoding="utf-8"))


def _functions(folder: str, prefix: str = "") -> Iterator[ast.FunctionDef]:
    for tree in _trees(folder):
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name.startswith(prefix):
                yield node


def _decorated(functions: Any, name: str) -> int:
    """How many have a decorator of that name."""
    used = ([ast.unparse(one) for one in function.decorator_list] for function in functions)
    return sum(any(re.match(rf"{name}\b", one) for one in found) for found in used)


def _contracts() -> Iterator[list[str]]:
    """The promises of each contract."""
    for tree in _trees("tests/contracts"):
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name.endswith("Contract"):
                names = [one.name for one in node.body if isinstance(one, ast.FunctionDef)]
                yield [name for name in names if name.startswith("test_")]


def _lines(folder: str) -> int:
    return sum(
        len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / folder).rglob("*.py")
    )


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
