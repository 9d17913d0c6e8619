"""Let each name of a list, "policies, problem, rng", have its own line and type on the site."""

import re
from typing import Any

import griffe

_LIST = re.compile(r"^( *)(\w+(?:, \w+)+)\n((?:\1 {4}.*\n?|\n(?=\1 {4}))+)", re.MULTILINE)


def separated(text: str) -> str:
    """Repeat the description of a list of names without a type for each of them."""

    def each(found: re.Match[str]) -> str:
        said = found[3].removesuffix("\n")  # the last line of a docstring has no end
        return "".join(f"{found[1]}{name}\n{said}\n" for name in found[2].split(", "))

    return _LIST.sub(each, text)


class SeparateParameters(griffe.Extension):
    """Called by griffe with every class and function that it has read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring, before its sections are parsed."""
        if obj.docstring is not None:
            obj.docstring.value = separated(obj.docstring.value)
