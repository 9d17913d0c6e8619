"""Which class a study was created with, and how another one differs."""

import json
from typing import Any

import numpy as np

from policysieve.arrays import shown
from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.policies import AnyPolicies, PolicyClass, Slates
from policysieve.study.packing import pack_answers, pack_contexts, unpack_answers, unpack_contexts

__all__ = ["PROBES", "check_identity", "check_probes", "identity_of", "packed_probes"]

PROBES = 4  # contexts whose answers tell functions and models apart
_FEW = 5  # names that an error lists
_FIELDS = ("kind", "n_policies", "n_actions", "slate_size", "names", "action_names", "fallback")


def identity_of(policies: PolicyClass, version: Any) -> dict[str, Any]:
    """What a study keeps of its class: kind, sizes, names, fingerprint, and the user's version."""
    if version is not None and not isinstance(version, str):
        raise InvalidArgumentError(f"version must be a text, got {shown(version)}")
    order = getattr(policies, "fallback", None)
    return {
        "kind": policies.kind,
        "n_policies": policies.n_policies,
        "n_actions": policies.n_actions,
        "slate_size": policies.slate_size,
        "names": None if policies.names is None else list(policies.names),
        "action_names": None if policies.action_names is None else list(policies.action_names),
        "fallback": None if order is None else order.tolist(),
        "version": version,
        "fingerprint": policies.fingerprint(),
    }


def check_identity(known: dict[str, Any], policies: PolicyClass, version: Any) -> None:
    """Raise unless these are the policies of a study, as far as their identity tells."""
    found = identity_of(policies, version)
    wrong = [
        _difference(field, known[field], found[field])
        for field in _FIELDS
        if known[field] != found[field]
    ]
    if known["version"] != found["version"]:
        wrong.append(f"their version is {found['version']!r}, not {known['version']!r}")
    if not wrong and known["fingerprint"] != found["fingerprint"]:
        wrong.append(
            f"the numbers that they are made of are others ({found['fingerprint']}, not "
            f"{known['fingerprint']})"
        )
    if wrong:
        raise InvalidArgumentError(
            f"policies must be those that the study was created with, but {'; '.join(wrong)}; "
            "create a new study for other policies"
        )


def packed_probes(policies: AnyPolicies, contexts: Any, answers: Any) -> bytes | None:
    """The first contexts with all answers; None for a class that its fingerprint tells apart."""
    if not policies.called or not isinstance(answers, Slates):
        return None
    n = min(PROBES, len(contexts))
    x, said = pack_contexts(contexts[:n]), pack_answers(policies, answers.take(slice(n)), None)
    assert said is not None
    head = json.dumps([n, len(x)]).encode()
    return head + b"\n" + x + said


def check_probes(probes: bytes, policies: AnyPolicies) -> None:
    """Raise unless the policies answer as they did at the first contexts, naming who does not."""
    head, _, rest = probes.partition(b"\n")
    try:
        n, size = json.loads(head)
        contexts = unpack_contexts(rest[:size], n)
        before = unpack_answers(policies, rest[size:], n, None).table
    except (ValueError, TypeError) as error:
        raise FileFormatError(f"the study's probes of its policies are damaged: {error}") from error
    now = policies.answers_at(policies.check_contexts(contexts))
    assert isinstance(now, Slates)
    others = (now.table[now.rows] != before).any(axis=(0, 2))
    if not others.any():
        return
    policy = int(np.flatnonzero(others)[0])
    row = int((now.table[now.rows][:, policy] != before[:, policy]).any(axis=1).argmax())
    raise InvalidArgumentError(
        f"policies must be those that the study was created with, but {int(others.sum()):,} of "
        f"{len(others):,} answer otherwise at its first contexts: for instance "
        f"{policies.name_of(policy)} with {now.table[now.rows][row, policy].tolist()} where it "
        f"answered {before[row, policy].tolist()}; create a new study for other policies, or open "
        "it with probe=False if they answer at random"
    )


def _difference(field: str, known: Any, found: Any) -> str:
    """What differs, in words."""
    if field not in ("names", "action_names") or known is None or found is None:
        return f"{field} is {shown(found)}, not {shown(known)}"
    what = "policies" if field == "names" else "actions"
    more = [name for name in found if name not in known]
    less = [name for name in known if name not in found]
    parts = [
        f"{word} {', '.join(map(repr, some[:_FEW]))}"
        for word, some in (("new are", more), ("missing are", less))
        if some
    ]
    return f"{what} have other names: {', '.join(parts) or 'their order is another'}"
