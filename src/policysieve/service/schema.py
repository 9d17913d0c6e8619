"""What the documents of the API say beyond what the code does: bodies, answers and examples."""

from http import HTTPStatus
from typing import Any

from policysieve.service.bodies import ARROW, JSON
from policysieve.service.problems import MEDIA_TYPE

__all__ = ["ASK", "DISCARD", "EXPIRE", "PROBLEM", "TELL", "body_of", "decisions", "problems"]

_ID = {"type": "string", "minLength": 1, "maxLength": 200}
_IDS = {"type": "array", "items": _ID, "uniqueItems": True}
_NUMBERS = {"type": "array", "items": {"type": "number"}}
_BINARY = {"schema": {"type": "string", "format": "binary"}}

PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "Which rule, what arrived, what to do."},
        "error": {"type": "string", "description": "Its name in Python, such as DecisionsError."},
    },
}


def problems(*codes: int) -> dict[int | str, dict[str, Any]]:
    """What may go wrong at a door; a token always may."""
    example = {"type": "about:blank", "title": "...", "status": 422, "detail": "..."}
    return {
        code: {
            "description": HTTPStatus(code).phrase,
            "content": {
                MEDIA_TYPE: {
                    "schema": PROBLEM,
                    "example": {**example, "title": HTTPStatus(code).phrase, "status": code},
                }
            },
        }
        for code in (401, 403, 421, *codes)
    }


def body_of(properties: dict[str, Any], required: tuple[str, ...], example: Any) -> dict[str, Any]:
    """The body of a request as JSON."""
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    content = {JSON: {"schema": schema, "example": example}}
    return {"requestBody": {"required": True, "content": content}}


def decisions(*more: str) -> dict[str, Any]:
    """Decisions as a list of objects."""
    row = {
        "id": _ID,
        "actions": {"type": "array", "items": {"type": "integer", "minimum": 0}},
        "action_names": {"type": "array", "items": {"type": "string"}},
        "propensities": _NUMBERS,
        "asked": {"type": "number", "description": "Seconds since 1970."},
    }
    shown = ("id", "actions", "action_names", "propensities", *more)
    return {
        "type": "object",
        "required": ["decisions"],
        "properties": {
            "decisions": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["id", "actions", "propensities", *more],
                    "properties": {name: row[name] for name in shown},
                },
            },
            "total": {"type": "integer"},
        },
    }


_ASKED = body_of(
    {
        "contexts": {
            "type": "array",
            "description": "As the policies take them: rows of numbers, numbers of rows, texts, or "
            "objects, which are rows of a table.",
            "items": {
                "anyOf": [
                    _NUMBERS,
                    {"type": "integer", "minimum": 0},
                    {"type": "string"},
                    {"type": "object"},
                ]
            },
        },
        "ids": {
            "anyOf": [_IDS, {"type": "null"}],
            "description": "Your names of the rounds. With them a request may be sent again.",
        },
        "available": {
            "description": "For each context what can be shown: numbers or names of actions, or "
            "true and false for each action.",
            "anyOf": [
                {
                    "type": "array",
                    "items": {
                        "type": "array",
                        "items": {
                            "anyOf": [
                                {"type": "boolean"},
                                {"type": "integer", "minimum": 0},
                                {"type": "string"},
                            ]
                        },
                    },
                },
                {"type": "null"},
            ],
        },
    },
    ("contexts",),
    {"contexts": [[0.5, -1.2, 0.3, 0.9]], "ids": ["order 17"]},
)
_ASKED["requestBody"]["content"][ARROW] = _BINARY
ASK: dict[str, Any] = {
    **_ASKED,
    "responses": {
        "200": {
            "description": "What was decided, in the order of the contexts.",
            "content": {
                JSON: {
                    "schema": decisions(),
                    "example": {
                        "decisions": [{"id": "order 17", "actions": [3], "propensities": [0.25]}]
                    },
                },
                ARROW: _BINARY,
            },
        }
    },
}

_TOLD = body_of(
    {
        "ids": _IDS,
        "rewards": {
            "description": "One for each id; of slates a list for each.",
            "type": "array",
            "items": {"anyOf": [{"type": "number"}, _NUMBERS]},
        },
    },
    ("ids", "rewards"),
    {"ids": ["order 17"], "rewards": [1.0]},
)
_TOLD["requestBody"]["content"][ARROW] = _BINARY
TELL: dict[str, Any] = {
    **_TOLD,
    "responses": {
        "200": {
            "description": "What became of the rewards.",
            "content": {
                JSON: {
                    "schema": {
                        "type": "object",
                        "required": ["counted", "again", "late"],
                        "properties": {
                            "counted": {"type": "integer"},
                            "again": {"type": "integer"},
                            "late": {"type": "array", "items": _ID},
                        },
                    },
                    "example": {"counted": 1, "again": 0, "late": []},
                },
                ARROW: _BINARY,
            },
        }
    },
}

EXPIRE = body_of(
    {
        "older_than": {
            "description": "Such as 1h, or seconds; by default the deadline of the study.",
            "anyOf": [{"type": "string"}, {"type": "number", "minimum": 0}, {"type": "null"}],
        }
    },
    (),
    {"older_than": "1h"},
)
DISCARD = body_of(
    {"ids": _IDS, "reason": {"type": "string", "minLength": 1}},
    ("ids", "reason"),
    {"ids": ["order 18"], "reason": "the page was never shown"},
)
