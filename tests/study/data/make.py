"""Makes the file of the schema at hand; run once for each new schema, and keep the old files.

From the top of the project: python -m tests.study.data.make
"""

from pathlib import Path

import policysieve as ps
from policysieve.study.schema import SCHEMA
from tests.study.cases import PROBLEM, contexts, linear, play, rewards_of

if __name__ == "__main__":
    path = Path(__file__).parent / f"schema-{SCHEMA}.db"
    with ps.Study.create(f"sqlite:///{path}", "shop", linear(), PROBLEM, seed=5) as study:
        play(study, 12, 9)
        named = study.ask(contexts(2, seed=77), ids=["order 1", "order 2"])
        study.tell(named, rewards_of(named))
        study.discard(study.ask(contexts(1, seed=78)).ids, reason="the shop was down")
        study.ask(contexts(3, seed=79))
