"""Deals the candidates of a class to shards, asks these, and deals anew where that saves time."""

import threading
import uuid
from collections.abc import Iterator, Mapping
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import PolicyFailureError, UnpicklableError
from policysieve.evidence.share import Missing
from policysieve.policies import Policies
from policysieve.policies.base import action_dtype, run_of
from policysieve.policies.usage import Meter
from policysieve.progress import late_bar
from policysieve.scale.dealing import Dealing, Owners, dealt, in_runs, round_robin
from policysieve.scale.engine import RayEngine
from policysieve.scale.shard import Question, Said, packed
from policysieve.scale.shards import Part, Shards

__all__ = ["Dealer"]

Numbers = npt.NDArray[np.intp]

_BYTES = (
    1 << 25
)  # of answers at once that cost nothing to split: more would fill Ray's object store
_UNEVEN = 1.1  # times the ideal that the slowest shard may take before candidates are dealt anew


class Dealer:
    """Candidates in shards, and what is known of the time that they take.

    Parameters
    ----------
    policies : Policies
    n_shards : int
    engine : RayEngine
    meter : Meter
        Counts what asking costs.
    fixed : bool
        Whether shards keep what they are dealt first, in runs, because they have evidence on it.

    Attributes
    ----------
    runs : tuple of pairs of int
        If they do, the number of the first policy of each shard, and of the first behind it.

    Raises
    ------
    UnpicklableError
        If a candidate cannot be sent.
    """

    def __init__(
        self,
        policies: Policies,
        n_shards: int,
        engine: RayEngine,
        meter: Meter,
        *,
        fixed: bool = False,
    ) -> None:
        self._policies, self._meter = policies, meter
        self._shards = Shards(engine, n_shards)
        self._lock = threading.Lock()
        self._costs = np.zeros(policies.n_policies)  # seconds, when each was last asked
        self._whole: Part | None = None  # of a class that cannot be taken apart
        if policies.part(np.zeros(1, np.intp)) is None:
            self._whole = self._shards.share(policies, "policies")
        self._again = False
        self._fixed, self._owner = fixed, uuid.uuid4().int
        first = round_robin if policies.called and not fixed else in_runs
        self._deal(first(policies.n_policies, n_shards))

    @property
    def runs(self) -> tuple[tuple[int, int], ...]:
        """The policies of each shard, if these stay where they are."""
        return tuple((int(held[0]), int(held[-1]) + 1) for held in self._dealt[0].held)

    def call(
        self,
        method: str,
        given: Mapping[int, tuple[Any, ...]],
        chain: tuple[str, Mapping[int, tuple[Any, ...]]] | None = None,
    ) -> tuple[dict[int, Any], Any]:
        """What methods of the shares of evidence in some shards return, as `Holders` has it.

        Raises
        ------
        PolicyFailureError
            Of the first policy that failed, with its number in the whole class.
        ClusterError
            If a shard is lost again and again.
        """
        dealing, parts = self._dealt
        firsts, found = [first for first, _ in self.runs], {}
        failures: list[BaseException] = []
        whose = parts, self._owner, firsts
        calls = self._shards.call(*whose, method, given)
        last = None if chain is None else self._shards.chained(*whose, *chain)
        for shard, said in calls:
            for place, counts in said.spent.items():
                self._meter.add(int(dealing.held[shard][place]), **counts)
            if said.error is not None:
                failures.append(_of_class(said.error, dealing.held[shard]))
            found[shard] = said.slates
        if failures:
            everyone = np.arange(self._policies.n_policies)
            raise min(failures, key=lambda error: _place(error, everyone))
        chained = None if last is None else self._shards.end_of(last)
        return found, None if isinstance(chained, Missing) else chained

    def forget(self, keys: list[int]) -> None:
        """Let the shares of evidence forget something, without waiting for it."""
        everyone = dict.fromkeys(range(len(self._shards)), (keys,))
        self._shards.call(self._dealt[1], self._owner, [0] * len(everyone), "forget", everyone)

    def ask(
        self,
        method: str,
        contexts: Any,
        which: Numbers | None,
        slates: npt.NDArray[Any] | None = None,
        more: tuple[Any, ...] = (),
    ) -> npt.NDArray[Any]:
        """What a method of the class returns for some policies; each shard sees to its own.

        Parameters
        ----------
        method : str
            That takes contexts, the numbers of policies, and further arguments.
        contexts
            Checked ones.
        which : integer array or None
        slates : array of shape (n, len(which), slate_size), optional
            The first of the further arguments, of which every shard gets its columns.
        more : tuple
            The others.

        Raises
        ------
        PolicyFailureError
            Of the first policy in `which` that failed, with its number in the whole class.
        ClusterError
            If a shard is lost again and again.
        """
        policies = self._policies
        asked = np.arange(policies.n_policies) if which is None else which
        shape = (len(contexts), len(asked), policies.slate_size)
        found = np.empty(shape, action_dtype(policies.n_actions))
        if not found.size:
            return found
        dealing, parts = self._dealt
        shares = {shard: run_of(mine) for shard, mine in dealing.shares(asked).items()}
        questions = {
            shard: Question(
                method,
                self._shards.given(
                    _unless_all(dealing.places[asked[mine]], dealing.held[shard]), "numbers"
                ),
                more if slates is None else (slates[:, mine], *more),
            )
            for shard, mine in shares.items()
        }
        loading = done = 0.0
        with late_bar("Asking the candidates", len(found) * len(asked)) as move:
            for rows in self._blocks(found, whole=slates is not None or bool(more)):
                failures: list[BaseException] = []
                for shard, said in self._shards.ask(parts, contexts[rows], questions):
                    mine, held = shares[shard], dealing.held[shard]
                    self._count(said, held, asked[mine])
                    if said.error is None:
                        found[rows, mine] = said.slates
                    else:
                        failures.append(_of_class(said.error, held))
                    loading = max(loading, said.loading)
                    done += len(found[rows]) * len(asked[mine])
                    move(done)
                if failures:
                    raise min(failures, key=lambda error: _place(error, asked))
        if not self._fixed:
            self._weigh(dealing, asked, loading)
        return found

    def _blocks(self, found: npt.NDArray[Any], *, whole: bool) -> Iterator[slice]:
        """Rows that are asked for at once: all, where a batch is one call of a candidate.

        Many answers that are only looked up would fill Ray's object store, and come in blocks.
        """
        size = len(found)
        if not whole and not self._policies.called:
            size = max(1, _BYTES * len(found) // found.nbytes)
        for start in range(0, len(found), size):
            yield slice(start, start + size)

    def _deal(self, owners: Owners) -> None:
        """Let each shard answer for these policies from the next call on."""
        began, n_shards = perf_counter(), len(self._shards)
        if self._whole is None:
            dealing = Dealing.of(owners, n_shards)
            parts = [self._shared(held) for held in dealing.held]
        else:
            dealing = Dealing.of(owners, n_shards, whole=True)
            parts = [self._whole] * n_shards
        self._dealt = dealing, parts
        self._took, self._lost = perf_counter() - began, 0.0

    def _shared(self, held: Numbers) -> Part:
        """Some policies where actors can load them, or raise and name the one that is at fault."""
        part = self._policies.part(held)
        assert part is not None
        try:
            return self._shards.share(packed(part), "policies")
        except UnpicklableError:
            if len(held) == 1:
                return self._shards.share(packed(part), self._policies.name_of(int(held[0])))
            for policy in held:
                self._shared(np.array([policy]))
            raise

    def _count(self, said: Said, held: Numbers, asked: Numbers) -> None:
        """Count what asking some policies has cost, and remember how long each took."""
        self._costs[run_of(asked)] = said.seconds / len(asked)
        seconds = sum(counts["seconds"] for counts in said.spent.values())
        scale = said.seconds / seconds if seconds else 0.0  # of calls at the same time each counts
        for place, counts in said.spent.items():
            policy = int(held[place])
            self._meter.add(policy, **counts)
            if scale:
                self._costs[policy] = scale * counts["seconds"]

    def _weigh(self, dealing: Dealing, asked: Numbers, loading: float) -> None:
        """Deal anew once the time that shards have waited for others exceeds what dealing takes.

        So at most as much time is lost again as the best dealing in hindsight would have taken.
        """
        costs, n_shards = self._costs, len(self._shards)
        with self._lock:
            if self._dealt[0] is not dealing:
                return  # another thread has dealt anew
            if self._again:  # the first time modules are imported, too
                self._took += loading
            if not self._policies.called:  # the same for all: what differs is the machine
                costs = np.full(len(costs), costs[asked].mean())
            longest = float(dealing.loads(costs, asked).max())
            ideal = max(float(costs[asked].sum()) / n_shards, float(costs[asked].max()))
            if longest > _UNEVEN * ideal:
                self._lost += longest - ideal
            if self._lost > self._took:
                self._again = True
                self._deal(dealt(costs, asked, n_shards))


def _unless_all(places: Numbers, held: Numbers) -> Numbers | None:
    """Numbers within a shard; None if these are all that it holds, in order."""
    everyone = len(places) == len(held) and isinstance(run_of(places), slice)
    return None if everyone else places


def _of_class(error: BaseException, held: Numbers) -> BaseException:
    """An error of a shard as one of the class, whose numbers are others."""
    if not isinstance(error, PolicyFailureError):
        return error
    return PolicyFailureError(int(held[error.policy]), error._problem, error.name)


def _place(error: BaseException, asked: Numbers) -> int:
    """Where the policy is that failed; what is no failure of one comes first."""
    if not isinstance(error, PolicyFailureError):
        return -1
    return int(np.flatnonzero(asked == error.policy)[0])
