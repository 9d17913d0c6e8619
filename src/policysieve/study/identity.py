"""Which class a study was created with, and how another one differs."""

from typing import Any

from policysieve.arrays import shown
from policysieve.errors import InvalidArgumentError
from policysieve.policies import PolicyClass

__all__ = ["check_identity", "identity_of"]

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
