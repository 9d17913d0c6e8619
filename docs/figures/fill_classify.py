"""Measure what classifiers lack where they are behind, and put it into `docs/classify.md`.

Run it with `python docs/figures/fill_classify.py`; it takes a few minutes and needs the extra
peers. The numbers are kept in `benchmarks/classify/parts.json`.
"""

import json
import re
from pathlib import Path

from policysieve.bench.cells import code_version
from policysieve.bench.classify.contestants import CONTESTANTS, OURS
from policysieve.bench.classify.parts import PARTS, follow, means
from policysieve.bench.classify.tasks import CLASSIFY_TASKS, SplitRows

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "classify.md"
KEPT = ROOT / "benchmarks" / "classify" / "parts.json"
CASES = {  # and the best LinUCB there
    ("letter", 2_000): "mabwiser_linucb",
    ("r52", 2_000): "mabwiser_linucb",
    ("topics100", 5_000): "contextualbandits_linucb",
    ("hs-2022", 5_000): "contextualbandits_linucb",
    ("icd-10-cm", 20_000): "contextualbandits_linucb",
}
SEEDS, BATCH = 5, 100


def measured() -> dict[str, object]:
    """What all contestants lack, in the mean over the seeds of the comparison."""
    rows = []
    for (task, rounds), other in CASES.items():
        splits = [CLASSIFY_TASKS[task].build(seed, True) for seed in range(SEEDS)]
        for name in (OURS, other):
            entry = CONTESTANTS[name]
            options = dict(entry.options.get(task, {}))
            runs = []
            for seed, split in enumerate(splits):
                assert isinstance(split, SplitRows)
                runs += follow(entry, split, seed, stops=[rounds], batch=BATCH, options=options)
            row = {"task": task, "rounds": rounds, "contestant": name, "options": options}
            rows.append(row | means(runs))
            print(row | means(runs), flush=True)
    settings = {"seeds": SEEDS, "batch": BATCH}
    return {"code": code_version(), "settings": settings, "rows": rows}


def table(result: dict[str, object]) -> str:
    """The numbers in Markdown."""
    lines = [
        "| task, rounds | contestant | " + " | ".join(PARTS) + " |",
        "| --- | --- |" + " ---: |" * len(PARTS),
    ]
    rows = result["rows"]
    assert isinstance(rows, list)
    for row in rows:
        cells = " | ".join(f"{row[part]:.3f}" for part in PARTS)
        lines.append(f"| {row['task']}, {row['rounds']:,} | {row['contestant']} | {cells} |")
    return "\n".join(lines)


if __name__ == "__main__":
    result = measured()
    KEPT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    filled = re.sub(r"(?m)^\| task, rounds \|.*(\n\|.*)*", table(result), text)
    PAGE.write_text(filled, encoding="utf-8")
