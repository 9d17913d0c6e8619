"""PolicySieve: find the best policy among many from sparse bandit feedback, and prove it.

Names are loaded on first use, so that importing the package stays quick. They are listed in
``__init__.pyi``, which type checkers and editors read as well.
"""

import re
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

_LISTED = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
# Name to module: "from policysieve.log import Log as Log"; modules come from the package itself.
_HOMES = {
    name: home for home, name in re.findall(r"^from (\S+) import (\w+) as", _LISTED, re.MULTILINE)
}

__all__ = ["__version__", *sorted(_HOMES)]

__version__ = metadata.version("policysieve")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    if home == __name__:
        return import_module(f"{__name__}.{name}")
    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
