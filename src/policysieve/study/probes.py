"""What functions and models said at the first contexts of a study, to tell other ones apart."""

import json
from typing import Any, NamedTuple

import numpy as np

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.policies import AnyPolicies, Slates
from policysieve.study.packing import pack_answers, pack_contexts, unpack_answers, unpack_contexts

__all__ = ["PROBES", "check_probes", "more_probes", "n_probes", "probed_places"]

PROBES = 4  # contexts


class _Part(NamedTuple):
    """Rounds of one ask: their places, contexts, and the answers of all candidates there."""

    places: list[int]
    contexts: bytes
    answers: bytes

    def packed(self) -> bytes:
        head = json.dumps([self.places, len(self.contexts), len(self.answers)]).encode()
        return head + b"\n" + self.contexts + self.answers


def more_probes(
    probes: bytes | None, policies: AnyPolicies, contexts: Any, answers: Any, first: int
) -> bytes | None:
    """The same with the first of some contexts, which were asked for from a place on.

    As long as there are too few; None for a class that its fingerprint tells apart.
    """
    n = min(PROBES - n_probes(probes), len(contexts))
    if n <= 0 or not policies.called or not isinstance(answers, Slates):
        return probes
    said = pack_answers(policies, answers.take(slice(n)), None)
    assert said is not None
    new = _Part(list(range(first, first + n)), pack_contexts(contexts[:n]), said)
    return b"".join(part.packed() for part in [*_parts(probes), new])


def n_probes(probes: bytes | None) -> int:
    """How many contexts there are."""
    return len(probed_places(probes))


def probed_places(probes: bytes | None) -> list[int]:
    """The rounds that they are of."""
    return [place for part in _parts(probes) for place in part.places]


def check_probes(probes: bytes | None, policies: AnyPolicies) -> None:
    """Raise unless the policies answer as they did at the first contexts, naming who does not."""
    asked, before, now = [], [], []
    for part in _parts(probes):
        n = len(part.places)
        try:
            contexts = unpack_contexts(part.contexts, n)
            before.append(unpack_answers(policies, part.answers, n, None).table)
        except (ValueError, TypeError) as error:
            raise FileFormatError(_damaged(error)) from error
        said = policies.answers_at(policies.check_contexts(contexts))
        assert isinstance(said, Slates)
        now.append(said.table[said.rows])
        asked += part.places
    if not asked:
        return
    known, found = np.concatenate(before), np.concatenate(now)
    differs = (found != known).any(axis=2)
    others = differs.any(axis=0)
    if not others.any():
        return
    policy = int(np.flatnonzero(others)[0])
    row = int(differs[:, policy].argmax())
    raise InvalidArgumentError(
        f"policies must be those that the study was created with, but {int(others.sum()):,} of "
        f"{len(others):,} answer otherwise at its first contexts: for instance "
        f"{policies.name_of(policy)} with {found[row, policy].tolist()} where it answered "
        f"{known[row, policy].tolist()}; create a new study for other policies, or open it with "
        "probe=False if they answer at random"
    )


def _parts(probes: bytes | None) -> list[_Part]:
    parts, rest = [], probes or b""
    try:
        while rest:
            head, _, rest = rest.partition(b"\n")
            places, size, *length = json.loads(head)
            if not length:  # one part, as it was kept first
                places, length = list(range(places)), [len(rest) - size]
            end = size + length[0]
            parts.append(_Part([int(place) for place in places], rest[:size], rest[size:end]))
            rest = rest[end:]
    except (ValueError, TypeError) as error:
        raise FileFormatError(_damaged(error)) from error
    return parts


def _damaged(error: Exception) -> str:
    return f"the study's probes of its policies are damaged: {error}"
