"""The part of the race that the package ships: what the Sieve needed until it was certified."""

import json
import sys
from pathlib import Path
from typing import Any

import policysieve
from policysieve.bench.race.tasks import TASKS
from policysieve.bench.rounds import Game
from policysieve.files import write_whole
from policysieve.measured import MEASURED

__all__ = ["shipped"]

_ASKED = ("n_actions", "slate_size", "sparsity", "epsilon", "delta")


def shipped(result: dict[str, Any]) -> dict[str, Any]:
    """What `policysieve.plan` compares with, from a result of the race.

    Tasks are built, because their data say how many actions and policies they have.
    """
    tasks = []
    for row in result["proving"]:
        if row["learner"] == "Sieve":
            game = Game.of(TASKS[row["task"]], 0)
            tasks.append(
                {
                    "task": row["task"],
                    "summary": TASKS[row["task"]].summary,
                    "problem": {name: getattr(game.problem, name) for name in _ASKED},
                    "n_policies": game.policies.n_policies,
                    "rounds": row["rounds"],
                }
            )
    return {
        "code": result["code"],
        "given_up_after": result["settings"]["most_to_prove"],
        "tasks": tasks,
    }


if __name__ == "__main__":
    found = shipped(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    text = json.dumps(found, indent=2, allow_nan=False) + "\n"
    write_whole(Path(policysieve.__file__).parent / MEASURED, text.encode())
