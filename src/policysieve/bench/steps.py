"""Results of several steps, of which some may be measured anew and the others kept."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

__all__ = ["begun"]


def begun(
    settings: dict[str, Any], code: str, steps: Collection[str], kept: Path | None
) -> dict[str, Any]:
    """A result to put steps into, with what an earlier run has of the others.

    Parameters
    ----------
    settings : dict
        Those of this run. An earlier run must have had the same; what it did not know of yet had
        no part in it.
    code : str
        That measures now.
    steps : collection of str
        All there are.
    kept : path or None
        Of the JSON of an earlier run, if there is one.

    Returns
    -------
    dict
        With the ``code``, the ``settings``, and in ``codes`` what has measured each step.
    """
    plain = json.loads(json.dumps(settings))
    result: dict[str, Any] = {"code": code, "settings": plain, "codes": {}}
    if kept is None or not kept.exists():
        return result
    earlier = json.loads(kept.read_text(encoding="utf-8"))
    if not earlier["settings"].items() <= plain.items():
        return result
    own = {step: earlier["code"] for step in steps if step in earlier}
    return {**earlier, **result, "codes": {**own, **earlier.get("codes", {})}}
