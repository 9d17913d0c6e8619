"""What clients send and get: JSON, or streams of Arrow."""

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import pyarrow as pa
from fastapi import Request
from fastapi.responses import Response

from policysieve.exploration.decisions import Decisions
from policysieve.frames import ContextFrame
from policysieve.service.arrow import read_stream, stream_of
from policysieve.service.problems import ProblemError
from policysieve.study import Told
from policysieve.study.deciding import Ask

__all__ = [
    "ARROW",
    "JSON",
    "Tell",
    "answered",
    "ask_in",
    "form_in",
    "json_in",
    "listed",
    "tell_in",
]

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"

_ASK = ("contexts", "ids", "available")
_LONGEST = 4096  # bytes of a form


@dataclass(frozen=True, kw_only=True)
class Tell:
    """Rewards as a client told them."""

    ids: Any
    rewards: Any = None


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_constant)
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"), ensure_ascii=False)


def media_type(request: Request) -> str:
    """What the client says that it sends."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def json_in(request: Request, fields: tuple[str, ...]) -> dict[str, Any]:
    """The object that a client sent, with no other fields than these."""
    if media_type(request) != JSON:
        raise _unsupported(request, JSON)
    return _object(await request.body(), fields)


async def form_in(request: Request) -> dict[str, str]:
    """The fields of a form that a browser sent."""
    body = await request.body()
    if len(body) > _LONGEST:
        raise ProblemError(413, f"a form must have at most {_LONGEST:,} bytes, got {len(body):,}")
    return {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}


async def ask_in(request: Request, most: int) -> Ask:
    """What a client asks for; a repeated request gets what it got before."""
    kind = media_type(request)
    if kind == JSON:
        given = _object(await request.body(), _ASK)
        contexts, ids = given.get("contexts"), given.get("ids")
        if not isinstance(contexts, list):
            raise ProblemError(
                422,
                "contexts must be a list: of rows of numbers, numbers of rows, texts or objects",
            )
        _check_ids(ids)
        available = given.get("available")
        _check_size(len(contexts), most)
        return Ask(contexts=contexts, ids=ids, available=available, again=ids is not None)
    if kind == ARROW:
        table = read_stream(await request.body(), most)
        contexts, ids, available = contexts_in(table)
        return Ask(contexts=contexts, ids=ids, available=available, again=ids is not None)
    raise _unsupported(request, JSON, ARROW)


async def tell_in(request: Request, most: int) -> Tell:
    """What a client tells."""
    kind = media_type(request)
    if kind == JSON:
        given = _object(await request.body(), ("ids", "rewards"))
        ids, rewards = given.get("ids"), given.get("rewards")
        if ids is None or rewards is None:
            raise ProblemError(422, "ids and rewards must be given, one reward for each id")
        _check_ids(ids)
        _check_size(len(ids), most)
        return Tell(ids=ids, rewards=rewards)
    if kind == ARROW:
        return Tell(ids=read_stream(await request.body(), most))
    raise _unsupported(request, JSON, ARROW)


def contexts_in(table: pa.Table) -> tuple[Any, Any, Any]:
    """Contexts, ids and what is available, in a table.

    The column ``context`` has rows of numbers, numbers or texts; without it all columns but ``id``
    and ``available`` are those of a table, which candidates get as its metadata say.
    """
    ids = table["id"].to_pylist() if "id" in table.schema.names else None
    available = table["available"].to_pylist() if "available" in table.schema.names else None
    if "context" in table.schema.names:
        return table["context"].to_pylist(), ids, available
    rest = [name for name in table.schema.names if name not in ("id", "available")]
    if not rest:
        raise ProblemError(422, "the stream must have a column context, or columns of a table")
    try:
        return ContextFrame.received(table.select(rest)), ids, available
    except (ValueError, KeyError) as error:
        why = str(error).split("\n")[0]
        raise ProblemError(
            422, f"the stream must hold rows of a table, but does not: {why}"
        ) from error


def listed(decisions: Decisions, *, ages: bool = False) -> list[dict[str, Any]]:
    """Decisions as rows for JSON; named actions by name and by number."""
    assert decisions.ids is not None
    names = decisions.action_names
    columns: dict[str, list[Any]] = {
        "id": decisions.ids.tolist(),
        "actions": decisions.actions.tolist(),
    }
    if names is not None:
        columns["action_names"] = names.tolist()
    columns["propensities"] = decisions.propensities.tolist()
    if ages:
        columns["asked"] = decisions.asked.tolist()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def answered(request: Request, found: Decisions | Told) -> Response:
    """What came out, as the client wants it."""
    if ARROW in request.headers.get("accept", ""):
        return Response(stream_of(_table(found)), media_type=ARROW)
    plain = found.to_dict() if isinstance(found, Told) else {"decisions": listed(found)}
    return Response(_ENCODER.encode(plain), media_type=JSON)


def _table(found: Decisions | Told) -> pa.Table:
    if isinstance(found, Told):
        counts = {"counted": pa.array([found.counted]), "again": pa.array([found.again])}
        return pa.table({**counts, "late": pa.array([found.late], pa.list_(pa.string()))})
    assert found.ids is not None
    columns = {
        "id": pa.array(found.ids.tolist(), pa.string()),
        "actions": pa.array(found.actions.tolist(), pa.list_(pa.int32())),
    }
    names = found.action_names
    if names is not None:
        columns["action_names"] = pa.array(names.tolist(), pa.list_(pa.string()))
    columns["propensities"] = pa.array(found.propensities.tolist(), pa.list_(pa.float64()))
    return pa.table(columns)


def _object(body: bytes, fields: tuple[str, ...]) -> dict[str, Any]:
    try:
        found, end = _DECODER.raw_decode(text := body.decode().strip())
        if end != len(text):
            raise ValueError(f"more text from character {end} on")
    except (ValueError, RecursionError) as error:
        raise ProblemError(400, f"the body must be JSON, but it is not: {error}") from error
    if not isinstance(found, dict):
        raise ProblemError(422, f"the body must be an object with the fields {', '.join(fields)}")
    unknown = [name for name in found if name not in fields]
    if unknown:
        raise ProblemError(
            422, f"the fields must be of {', '.join(fields)}, got {', '.join(map(repr, unknown))}"
        )
    return found


def _check_ids(ids: Any) -> None:
    if ids is not None and not isinstance(ids, list):
        raise ProblemError(422, "ids must be a list of texts, one for each round")


def _check_size(n: int, most: int) -> None:
    if n > most:
        raise ProblemError(413, f"a request must have at most {most:,} rounds, got {n:,}")


def _unsupported(request: Request, *kinds: str) -> ProblemError:
    got = media_type(request) or "none"
    return ProblemError(
        415,
        f"the header Content-Type must be {' or '.join(kinds)}, got {got[:80]}",
        {"Accept": ", ".join(kinds)},
    )
