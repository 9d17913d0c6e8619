"""What a study is: its name, problem, learner and rules, as its row says."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any, Self

import numpy as np
from sqlalchemy import Connection, bindparam, insert, select
from sqlalchemy.exc import IntegrityError

from policysieve.arrays import shown
from policysieve.checks import flag, integer, one_of
from policysieve.errors import ArchivedError, InvalidArgumentError
from policysieve.exploration.explorer import Explorer
from policysieve.exploration.learners import LEARNERS
from policysieve.policies import AnyPolicies
from policysieve.problem import Problem, check_problem
from policysieve.study.durations import seconds
from policysieve.study.schema import counters, studies
from policysieve.study.statements import Statement

__all__ = ["StudyRecord"]

_LONGEST = 200


_ARCHIVED = Statement(select(studies.c.archived).where(studies.c.study == bindparam("number")))


@dataclass(frozen=True, kw_only=True)
class StudyRecord:
    """The row of a study.

    Attributes
    ----------
    study : int
        Its number in the database.
    name, mark : str
        Ids of rounds begin with the mark.
    problem : Problem
    learner : str
    settings : dict
        Arguments of the learner.
    seed : int
    identity : dict
        Of the class, as `identity` has it.
    deadline : float or None
        Seconds.
    keep_contexts : bool
    package : str
        The release that created it.
    created : float
    archived : float or None
        When.
    """

    study: int
    name: str
    mark: str
    problem: Problem
    learner: str
    settings: dict[str, Any]
    seed: int
    identity: dict[str, Any]
    deadline: float | None
    keep_contexts: bool
    package: str
    created: float
    archived: float | None

    @classmethod
    def checked(
        cls,
        name: Any,
        problem: Any,
        *,
        learner: Any,
        settings: Any,
        seed: Any,
        identity: dict[str, Any],
        deadline: Any,
        keep_contexts: Any,
    ) -> Self:
        """A record of what a user gave, or raise."""
        if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST:
            raise InvalidArgumentError(
                f"name must be a text of 1 to {_LONGEST} characters, got {shown(name)}"
            )
        check_problem(problem)
        _check_kept(problem, settings)
        one_of("learner", learner, LEARNERS)
        wait = None if deadline is None else seconds("deadline", deadline)
        if wait is not None:
            problem.unanswered  # noqa: B018  # or raise
        seed = secrets.randbits(63) if seed is None else integer("seed", seed, low=0)
        return cls(
            study=-1,
            name=name,
            mark=secrets.token_hex(3),
            problem=problem,
            learner=learner,
            settings=_plain(settings),
            seed=seed,
            identity=identity,
            deadline=wait,
            keep_contexts=flag("keep_contexts", keep_contexts),
            package=metadata.version("policysieve"),
            created=0.0,
            archived=None,
        )

    def insert(self, connection: Connection, now: float) -> int:
        """Write it as a new row, and return its number, or raise if the name is taken."""
        row = {
            "name": self.name,
            "mark": self.mark,
            "problem": json.dumps(asdict(self.problem)),
            "learner": self.learner,
            "settings": json.dumps(self.settings),
            "seed": str(self.seed),
            "identity": json.dumps(self.identity),
            "deadline": self.deadline,
            "keep_contexts": self.keep_contexts,
            "package": self.package,
            "created": now,
        }
        try:
            made = connection.execute(insert(studies).returning(studies.c.study), row)
            number = int(made.scalar_one())
        except IntegrityError as error:
            raise InvalidArgumentError(
                f"name must be a new one, but there is a study {self.name!r}; open it with "
                "Study.open, or choose another name"
            ) from error
        connection.execute(insert(counters), {"study": number, "rounds": 0, "exploration": 0})
        return number

    @classmethod
    def read(cls, connection: Connection, name: str, where: str) -> Self:
        """The record of that name, or raise."""
        found = cls.find(connection, name)
        if found is None:
            names = connection.execute(select(studies.c.name).order_by(studies.c.name)).scalars()
            known = ", ".join(map(repr, names)) or "none"
            raise InvalidArgumentError(
                f"name must be that of a study in {where}, which has {known}, got {shown(name)}"
            )
        return found

    @classmethod
    def find(cls, connection: Connection, name: str) -> Self | None:
        """The record of that name, if there is one."""
        row = connection.execute(select(studies).where(studies.c.name == name)).first()
        return None if row is None else cls.of(row)

    def check_active(self, connection: Connection) -> None:
        """Raise if the study was archived, by this process or by another."""
        ((archived,),) = _ARCHIVED.rows(connection, {"number": self.study})
        self.check_archived(archived)

    def check_archived(self, archived: float | None) -> None:
        """Raise if there is a time at which it was archived."""
        if archived is not None:
            raise ArchivedError(
                f"study {self.name!r} is archived, and takes no decisions or rewards any more"
            )

    @classmethod
    def of(cls, row: Any) -> Self:
        """What a row says."""
        return cls(
            study=row.study,
            name=row.name,
            mark=row.mark,
            problem=Problem(**json.loads(row.problem)),
            learner=row.learner,
            settings=json.loads(row.settings),
            seed=int(row.seed),
            identity=json.loads(row.identity),
            deadline=row.deadline,
            keep_contexts=row.keep_contexts,
            package=row.package,
            created=row.created,
            archived=row.archived,
        )

    def new_learner(self, policies: AnyPolicies) -> Explorer:
        """The learner before any round."""
        try:
            return LEARNERS[self.learner](policies, self.problem, rng=self.seed, **self.settings)
        except TypeError as error:
            raise InvalidArgumentError(
                f"settings must be arguments of {self.learner}: {error}"
            ) from error


def _check_kept(problem: Problem, settings: Any) -> None:
    """Raise if a learner would have to remember what a study does not keep yet."""
    if problem.outcomes is not None:
        raise InvalidArgumentError(
            "problem must declare neither outcomes nor guardrails for a study, which keeps one "
            "reward for each item; leave them out, or use a learner in memory"
        )
    if problem.max_loss is not None:
        raise InvalidArgumentError(
            f"problem must have no max_loss for a study, got {problem.max_loss:g}: deciders do not "
            "know what the others have spent; use Problem(traffic=...), or a learner in memory"
        )
    if isinstance(settings, Mapping) and settings.get("additions"):
        raise InvalidArgumentError(
            f"additions must be 0 for a study, got {shown(settings['additions'])}: its class is "
            "fixed; create a new study with all candidates, or use a learner in memory"
        )


def _plain(settings: Any) -> dict[str, Any]:
    """Settings that JSON can hold, or raise."""
    if settings is None:
        return {}
    try:
        plain = {name: _number(value) for name, value in dict(settings).items()}
        return dict(json.loads(json.dumps(plain, allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"settings must be arguments of the learner that are numbers, words or None, got "
            f"{shown(settings)}"
        ) from error


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
