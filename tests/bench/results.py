"""Made-up results of benchmarks, by kind, for tests of what is shown of them."""

from typing import Any

from policysieve.bench.forecast.measuring import summaries
from policysieve.bench.race.measuring import RaceSettings
from policysieve.bench.race.ratios import summary

SETTINGS = RaceSettings(seeds=2, proof_seeds=1, most=1000, most_to_prove=9000)


def picked(task: str, learner: str, needed: float | None) -> dict[str, Any]:
    return {
        "task": task,
        "learner": learner,
        "needed": needed,
        "budgets": [20, 30, 45],
        "mean": [0.3, 0.1, 0.0],
        "low": [0.2, 0.05, 0.0],
        "high": [0.4, 0.2, 0.1],
        "right": [0.0, 0.5, 1.0],
    }


def proved(task: str, learner: str, median: float | None) -> dict[str, Any]:
    return {"task": task, "learner": learner, "median": median, "false": 0, "planned": 7000}


def grown(sweep: str, learner: str, rounds: tuple[int | None, ...], kind: str) -> dict[str, Any]:
    known = None not in rounds
    return {
        "sweep": sweep,
        "summary": f"about {sweep}",
        "axis": "actions K",
        "kind": kind,
        "learner": learner,
        "points": [
            {"x": x, "rate": 10.0 * x, "rounds": n, "most": 999, "lower_bound": 2.0 * x}
            for x, n in zip((2, 4, 8), rounds, strict=True)
        ],
        **{
            key: value if known else None
            for key, value in {"slope": 1.0, "low": 0.8, "high": 1.2, "predicted": 1.1}.items()
        },
        "verdict": "as predicted" if known else "unknown",
        "closer": None,
    }


def proof_grown(growth: str, *certified: int | None) -> dict[str, Any]:
    """Rounds to a certificate, of which half are needed without a union, and a tenth to eliminate.

    Where there is no past to look at, nothing is certified.
    """
    slope = {"slope": 0.2, "low": 0.1, "high": 0.3, "predicted": 0.25, "verdict": "as predicted"}
    unknown: dict[str, Any] = {**dict.fromkeys(slope), "verdict": "unknown"}
    return {
        "growth": growth,
        "summary": f"about {growth}",
        "axis": "policies",
        "points": [
            {
                "x": 10.0**i,
                "rounds": {
                    "eliminated": None if n is None else n / 10,
                    "without_union": None if n is None else n / 2,
                    "certified": n,
                    "incumbent": None,
                },
                "rates": {
                    "eliminated": 10.0,
                    "without_union": 20.0,
                    "certified": 30.0 + i,
                    "incumbent": 40.0,
                },
                "close": 2.0,
                "false": 0,
            }
            for i, n in enumerate(certified, start=1)
        ],
        "slopes": {
            "eliminated": slope,
            "without_union": slope,
            "certified": slope,
            "incumbent": unknown,
        },
    }


def classified(task: str, contestant: str, *mean: float) -> dict[str, Any]:
    return {
        "task": task,
        "contestant": contestant,
        "checkpoints": [1000, 2000, 5000][: len(mean)],
        "mean": list(mean),
        "low": [value / 2 for value in mean],
        "high": list(mean),
        "rounds_per_second": 1234.5,
        "options": {"rate": 0.123456789},
    }


def timed(kind: str, *, batch: int = 100, until_certified: bool = False) -> dict[str, Any]:
    return {
        "kind": kind,
        "n_policies": 1000,
        "epsilon": 0.05,
        "batch": batch,
        "until_certified": until_certified,
        "rounds": 1500 if until_certified else 20_000,
        "certified": until_certified,
        "survivors": 77,
        "rounds_per_second": 12_345.6,
        "ratio": 0.125,
        "share": 0.0625,
        "longest_ask_seconds": 0.0042,
        "longest_tell_seconds": 1.5,
    }


def delayed(kind: str, threads: int, *, competing: bool) -> dict[str, Any]:
    times = {"p50": 0.25, "p99": 1.5 * threads, "max": 20.0}
    return {"kind": kind, "threads": threads, "competing": competing, "ask": times, "tell": times}


def slowed(kind_factor: float) -> dict[str, Any]:
    sizes = {"policies": [300, 3000], "actions": [10, 100], "contexts": [100, 1000]}
    return {
        name: {"sizes": at, "seconds": [1e-6, 1e-6 * kind_factor], "slope": kind_factor / 10}
        for name, at in {**sizes, "rounds": [2500, 5000]}.items()
    }


COUNTS = {"runs": 300, "missed": 3, "certified": 200, "delta": 0.2, "limit": 80}

PICKING = [
    picked("one", "Uniform", 400.0),
    picked("one", "Sieve", 80.0),
    picked("two", "Sieve", None),
]
PROVING = [proved("one", "Uniform", None), proved("one", "Sieve", 4000.0)]


def forecast_run(which: str, seed: int, needed: int | None, *totals: int | None) -> dict[str, Any]:
    """Forecasts at each share, with intervals from half to twice as much."""
    said = [
        None
        if total is None
        else {"rounds": 9, "total": total, "lower": total // 2} | {"upper": 2 * total}
        for total in totals
    ]
    run = {"task": "one", "learner": "Sieve", "seed": seed, "needed": needed}
    return {"set": which, **run, "forecasts": said}


FORECASTS = [
    forecast_run("chose", 100, 1000, None, 800, 900, 1000),
    forecast_run("judged", 0, 1000, None, 400, 1200, 1000),
    forecast_run("judged", 1, 2000, 4400, 2000, 2000, 2000),
    forecast_run("judged", 2, None, None, None, None, None),
]


BENCHES: dict[str, dict[str, Any]] = {
    "speed": {
        "low_variance_against_naive": {"rounds_per_second": 1e6, "ratio": 99.0},
        "memory_bandwidth": {"event_seconds": 1e-4, "share": 0.6},
        "growth": {
            "n_policies": [100, 1000],
            "rewarded_seconds": [1e-6, 1e-5],
            "unrewarded_seconds": [1e-8, 1e-8],
            "rewarded_slope": 1.0,
            "unrewarded_slope": 0.0,
        },
        "exploration_by_optimization": {
            "closed_form_microseconds": {"10": 0.1, "100": 0.5},
            "rounds_per_second": 3e5,
            "ratio": 1.25,
        },
        "certificate": {"seconds": 0.5, "share": 0.25},
        "peak_memory": {"table_megabytes": 16.0, "megabytes_beyond_the_table": 133.0},
        "sieve": {
            "rounds": 20_000,
            "cases": [
                timed("clusters", until_certified=True),
                timed("clusters", batch=1),
                timed("close"),
            ],
        },
        "recommend": {
            "close": {
                "n_policies": 1000,
                "rounds": 60_000,
                "survivors": 77,
                "median_seconds": 0.941,
                "longest_seconds": 2.5,
                "ratio": 4000.0,
            }
        },
        "latency": {
            "n_policies": 1000,
            "rounds": 4000,
            "cases": [
                delayed("clusters", 1, competing=False),
                delayed("close", 8, competing=True),
            ],
        },
        "two_cores": {
            "cases": [
                {
                    "n_policies": 1000,
                    "n_events": 4000,
                    "competing": competing,
                    "seconds": 2.0,
                    "one_thread_seconds": 3.0,
                    "ratio": 1.5,
                }
                for competing in (False, True)
            ]
        },
        "sieve_growth": {"clusters": slowed(4.0), "close": slowed(8.0)},
        "sieve_memory": {
            "n_policies": 1_000_000,
            "rounds": 300,
            "table_megabytes": 32.0,
            "megabytes_beyond_the_table": 700.0,
            "evidence_megabytes": 50.0,
            "megabytes_beyond": 650.0,
        },
        "first_use": {
            "python_seconds": 0.011,
            "import_seconds": 0.052,
            "empty_cache_seconds": 9.5,
            "cached_seconds": 0.9,
            "mapped_seconds": 1.8,
            "compiled": 15,
            "compiled_for_mapped": 8,
        },
    },
    "certificates": {
        "false": [
            {"world": world, "false": false, **COUNTS}
            for world, false in (("two_arms", 4), ("late_answers", 7))
        ],
        "floors": [{"method": "stitched", "explorer": "greedy", "false": 6, **COUNTS}],
        "unmet": [{"log": "two actions", "known": "smallest", "false": 299, **COUNTS}],
        "power": [
            {
                "n_actions": n_actions,
                "source": "low_variance",
                "seeds": 5,
                "max_rounds": 9000,
                "rounds": {"betting": 100.0 * n_actions, "empirical_bernstein": None},
            }
            for n_actions in (10, 30)
        ],
    },
    "samples": {
        "settings": SETTINGS._asdict(),
        "skipped": {"letter": "letter could not be downloaded"},
        "picking": PICKING,
        "proving": PROVING,
        "summary": summary(PICKING, PROVING, SETTINGS),
    },
    "scaling": {
        "settings": {"seeds": 2, "full": False},
        "sweeps": [
            grown("few", "Uniform", (100, 200, 400), "right"),
            grown("few", "Sieve", (20, 40, None), "right"),
            grown("few", "Sieve", (50, 99, 201), "certified"),
        ],
        "growth": [proof_grown("all", 300, 400, 500)],
        "variance": [
            {
                "explore_rounds": n,
                "true": 5000 / n,
                "observable": 20_000 / n,
                "bound": 50_000 / n,
                "rate": 30_000 / n,
                "uniform": 40.0,
            }
            for n in (100, 1000)
        ],
    },
    "classify": {
        "settings": {"seeds": 2, "rounds": 5000, "batch": 50, "most_seconds": 180.0},
        "skipped": {"peer": "peer needs another package"},
        "rows": [
            classified("digits", "policysieve", 0.25, 0.5, 0.75),
            classified("digits", "peer_slow", 0.2, 0.3),
            classified("digits", "peer_fast", 0.2, 0.3, 0.6),
            classified("digits", "supervised", 0.8, 0.9, 0.95),
        ],
    },
    "lists": {
        "settings": {"seeds": 2, "rounds": 5000, "batch": 50, "most_seconds": 180.0},
        "skipped": {"peer": "peer needs another package"},
        "rows": [
            classified("tags40", "policysieve", 0.25, 0.5, 0.55),
            classified("tags40", "peer_fast", 0.2, 0.3, 0.4),
            classified("tags40", "supervised", 0.5, 0.55, 0.56),
        ],
    },
    "forecast": {
        "settings": {"seeds": 2, "made_up": 1, "most": 9000},
        "skipped": {"letter": "could not be downloaded"},
        "rows": FORECASTS,
        "summary": summaries(FORECASTS),
    },
    "faults": {
        "settings": {"kills": 100, "soak_rounds": 1_000_000},
        "calls": {"inputs_tried": 20_000, "foreign": [], "changed": []},
        "kills": [
            {
                "writer": "Log.save",
                "kills": 100,
                "writes": 300,
                "broken": 0,
                "lost": 0,
                "left_over": 2,
                "failed": 0,
            }
        ],
        "at_once": [
            {
                "writer": "Log.save",
                "reads": 5_000,
                "writes": 900,
                "broken": 0,
                "failed": 0,
                "left_over": 0,
            }
        ],
        "full": [
            {
                "writer": "Log.save",
                "tried": 4,
                "foreign": 0,
                "silent": 0,
                "broken": 0,
                "left_over": 0,
            },
            {
                "writer": "policysieve decide",
                "tried": 4,
                "foreign": 0,
                "silent": 0,
                "broken": 0,
                "left_over": 0,
            },
        ],
        "soaks": [
            {
                "learner": "Sieve",
                "rounds": 1_000_000,
                "batch": 100,
                "looks": [
                    {"rounds": 500_000, "held": 200_000_000, "kept": 50_000_000},
                    {"rounds": 1_000_000, "held": 251_000_000, "kept": 100_000_000},
                ],
                "bytes_kept": 100.0,
                "bytes_beyond": 2.0,
            }
        ],
        "threads": {
            "threads": 8,
            "seconds": 60.0,
            "errors": [],
            "rounds": 1_000_000,
            "lost": 0,
            "doubled": 0,
            "wrong": 0,
        },
        "interrupts": {
            "calls": 10_000,
            "interrupted": 4_000,
            "lost": 0,
            "doubled": 0,
            "different": 0,
        },
        "clock": {"jumps": 100, "wrong": 0, "expired": 0, "kept": 0},
    },
}
