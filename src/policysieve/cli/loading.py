"""Policies from files or from Python."""

import importlib
import importlib.util
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from policysieve.archives import arrays_in
from policysieve.errors import InvalidArgumentError, PolicySieveError
from policysieve.naming import meant
from policysieve.policies import (
    AnyPolicies,
    ImplicitPolicies,
    LinearPolicies,
    Policies,
    PolicyTable,
)

if TYPE_CHECKING:
    from policysieve.study.record import StudyRecord

__all__ = ["in_words", "load_policies", "policies_of", "policy_given"]

_IN_PYTHON = (
    "if you trust it, write LinearPolicies(numpy.load(file)['weights']) in a module, and pass "
    "--policies file.py:name"
)


Names = Sequence[str] | None


def load_policies(
    source: str,
    n_actions: int | None,
    slate_size: int,
    *,
    names: Names = None,
    actions: Names = None,
    fallback: Sequence[int | str] | None = None,
) -> AnyPolicies:
    """Policies from ``table.npy``, ``weights.npz``, ``file.py:name`` or ``module:name``.

    A ``.npy`` table needs the number of actions, or their names; a ``.npz`` archive holds linear
    weights under the name ``weights``; Python has a class of policies, listed or not, or a
    function that returns one. Arrays take names; Python has its own. A table takes a fallback for
    what is not available; weights rank the actions, and Python has its own.
    """
    policies = _load(source, n_actions, slate_size, names, actions, fallback)
    count = n_actions if actions is None else len(actions)
    if count is not None and count != policies.n_actions:
        raise InvalidArgumentError(
            f"--actions must be the {policies.n_actions} of the policies, got {count}"
        )
    return policies


def policies_of(record: "StudyRecord", source: str) -> AnyPolicies:
    """The policies of a study: what a file does not say, the study knows."""
    known, problem = record.identity, record.problem
    is_file = source.endswith((".npy", ".npz"))
    return load_policies(
        source,
        problem.n_actions if is_file else None,
        problem.slate_size,
        names=known["names"],
        actions=known["action_names"] if is_file else None,
        fallback=known["fallback"] if source.endswith(".npy") else None,
    )


def in_words(policies: AnyPolicies) -> str:
    """How many policies there are, and for how many contexts if these are listed."""
    if not isinstance(policies, Policies):
        if policies.log_size is None:
            return repr(policies)
        digits = policies.log_size / math.log(10)
        size = f"{math.exp(policies.log_size):,.0f}" if digits < 9 else f"about 10^{digits:.0f}"
        return f"{policies!r}, {size} policies,"
    contexts = policies.n_contexts
    listed = "" if contexts is None else f" for {contexts:,} contexts"
    return f"{policies.n_policies:,} policies{listed}"


def policy_given(text: str, policies: AnyPolicies) -> int | str:
    """The name of a policy, or its number if none has this name."""
    named = policies.names is not None and text in policies.names
    return int(text) if text.isdecimal() and not named else text


def _load(
    source: str,
    n_actions: int | None,
    slate_size: int,
    names: Names,
    actions: Names,
    fallback: Sequence[int | str] | None,
) -> AnyPolicies:
    if fallback is not None and not source.endswith(".npy"):
        raise InvalidArgumentError(
            f"--fallback goes with a .npy table, got {source}; linear weights rank the actions, "
            "and policies of a module are made with fallback=[...]"
        )
    if source.endswith(".npy"):
        if n_actions is None and actions is None:
            raise click.UsageError(
                "--actions is needed with a table: how many actions are there, or what are their "
                "names?"
            )
        order = fallback
        if fallback is not None and actions is None:
            order = [int(one) if str(one).isdecimal() else one for one in fallback]
        return PolicyTable.load(source, n_actions, names=names, actions=actions, fallback=order)
    if source.endswith(".npz"):
        if not Path(source).is_file():
            raise FileNotFoundError(f"no weights at {source}")
        (weights,) = arrays_in(source, "weights", advice=_IN_PYTHON)
        return LinearPolicies(weights, slate_size=slate_size, names=names, actions=actions)
    module, _, attribute = source.rpartition(":")
    if ":" not in source or _is_python(attribute):
        raise InvalidArgumentError(
            "--policies must be a .npy table, a .npz of linear weights, or file.py:name or "
            f"module:name with the name of a policy class or of a function, got {source}"
            + (f"; if it has policies = ..., say {source}:policies" if _is_python(source) else "")
        )
    policies = _made(source, module, attribute)
    if not isinstance(policies, Policies | ImplicitPolicies):
        raise InvalidArgumentError(
            f"--policies {source} must be a policy class such as PolicyTable, or a function that "
            f"returns one, got {type(policies).__name__}"
        )
    return policies


def _made(source: str, module: str, attribute: str) -> object:
    """What an attribute of a module is, or returns; the module's own code may raise anything."""
    is_file = _is_python(module)
    folder = str(Path(module).resolve().parent if is_file else Path.cwd())
    sys.path.insert(0, folder)
    try:
        loaded = _run_file(module) if is_file else importlib.import_module(module)
        found = _named(loaded, attribute)
        return found() if callable(found) else found
    except PolicySieveError:
        raise
    except (Exception, SystemExit) as error:
        raise InvalidArgumentError(
            f"--policies {source} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


def _is_python(source: str) -> bool:
    return source.endswith(".py")


def _named(module: ModuleType, attribute: str) -> Any:
    """An attribute of a module, or an error that says which it has."""
    if not hasattr(module, attribute):
        known = [name for name in vars(module) if not name.startswith("_")]
        hint = meant(attribute, known) or f"; it has {', '.join(known)}"
        raise AttributeError(f"{module.__name__} has no {attribute!r}{hint}")
    return getattr(module, attribute)


def _run_file(path: str) -> ModuleType:
    """The module that a file is, under its own name unless another module has it."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"no file {path}")
    name = Path(path).stem
    known = sys.modules.get(name)
    if known is not None:
        if _is_same_file(known, path):
            return known
        name = f"policies_in_{name}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def _is_same_file(module: ModuleType, path: str) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).exists() and Path(file).samefile(path)
