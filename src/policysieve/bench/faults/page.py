"""What faults did, as tables and as a page."""

from collections.abc import Iterable
from typing import Any

from matplotlib.figure import Figure

from policysieve.report import Page, Table
from policysieve.report.style import legend, line_looks, look, new_figure

__all__ = ["memory_against_rounds", "page", "tables"]

Result = dict[str, Any]

_MEGABYTE = 1e6
_ROUND = 28  # bytes of a round in a log, which a leak keeps again; allocators grow by up to 12


def tables(result: Result) -> dict[str, Table]:
    """Everything that should be zero, each writer, and the memory of each learner."""
    every = {
        "faults": Table(
            "What went wrong, which should be zero everywhere",
            ["what was done", "times", "what must not happen", "happened"],
            list(_rows(result)),
        ),
        "files": Table(
            "The same for everything that writes a file",
            ["writer", "kills", "broken", "lost", "left over", "reads while two write", "broken "]
            + ["on a full disk", "broken, silent or left over"],
            _files(result),
            "Broken: neither the last content that was acknowledged nor the next. Left over: after "
            "the next write.",
        ),
        "memory": Table(
            "Bytes by which memory grows in a round",
            ["learner", "rounds", "at once", "log and evidence", "beyond them"],
            [
                [run["learner"], run["rounds"], run["batch"], run["bytes_kept"]]
                + [run["bytes_beyond"]]
                for run in result.get("soaks", [])
            ],
            "Of the process, after the first fifth of the rounds. What is beyond the log and the "
            "evidence is that of allocators; more than a round takes in the log counts as a leak.",
        ),
    }
    return {name: table for name, table in every.items() if table.rows}


def page(result: Result) -> Page:
    """A page about faults."""
    shown = Page(
        "What faults do",
        "Bad input, killed writers, full disks, threads, interrupts, clocks that jump, and long "
        "runs.",
        configuration=result["settings"],
    )
    rows = list(_rows(result))
    wrong = sum(row[3] for row in rows)
    shown.facts(
        {
            "Went wrong": (wrong, "of all that was tried"),
            "Tried": (sum({row[0]: row[1] for row in rows}.values()), "calls, kills and rounds"),
        }
    )
    shown.text(
        "Nothing went wrong." if not wrong else "Something went wrong: see the table.",
        statement=True,
    )
    every = tables(result)
    shown.section("Everything tried").table(every["faults"])
    if "files" in every:
        shown.section("Files").table(every["files"])
    if "memory" in every:
        shown.section("Memory")
        shown.figure(
            memory_against_rounds(result["soaks"]),
            "Memory of the process beyond the log and the evidence, since the first look, as a run "
            "goes on. A line that rises all the way is a leak.",
            name="memory",
        )
        shown.table(every["memory"])
    return shown


def memory_against_rounds(soaks: list[Result]) -> Figure:
    """Draw the memory that nothing accounts for against the rounds."""
    with look():
        figure, axes = new_figure(3.4)
        for run, style in zip(soaks, line_looks(len(soaks)), strict=True):
            first = run["looks"][0]
            beyond = [
                (one["held"] - one["kept"] - first["held"] + first["kept"]) / _MEGABYTE
                for one in run["looks"]
            ]
            axes.plot(
                [100 * one["rounds"] / run["rounds"] for one in run["looks"]],
                beyond,
                color=style.colour,
                marker=style.marker,
                linestyle=style.dashes,
                label=f"{run['learner']}, {run['batch']} at once",
            )
        axes.set_xlabel("percent of the rounds")
        axes.set_ylabel("megabytes beyond what is kept")
        legend(figure, axes, columns=3)
    return figure


def _rows(result: Result) -> Iterable[tuple[str, int, str, int]]:
    """What was done, how often, what must not happen then, and how often it did."""
    if "calls" in result:
        calls = result["calls"]
        done, n = "calls with made-up arguments", calls["inputs_tried"]
        yield done, n, "an error that is not ours", len(calls["foreign"])
        yield done, n, "a state that changes silently", len(calls["changed"])
    if "kills" in result:
        done, n = "writers killed", _sum(result["kills"], "kills")
        yield done, n, "a file is broken", _sum(result["kills"], "broken")
        yield done, n, "an acknowledged write is lost", _sum(result["kills"], "lost")
        yield done, n, "a temporary file stays", _sum(result["kills"], "left_over")
        yield done, n, "a writer fails", _sum(result["kills"], "failed")
    if "at_once" in result:
        done, n = "reads while two processes write", _sum(result["at_once"], "reads")
        yield done, n, "a file is broken", _sum(result["at_once"], "broken")
        yield done, n, "a temporary file stays", _sum(result["at_once"], "left_over")
        yield done, n, "a writer fails", _sum(result["at_once"], "failed")
    if "full" in result:
        done, n = "writes to a full disk", _sum(result["full"], "tried")
        yield done, n, "an error that is not ours or the system's", _sum(result["full"], "foreign")
        yield done, n, "no error", _sum(result["full"], "silent")
        yield done, n, "the old file is broken", _sum(result["full"], "broken")
        yield done, n, "a temporary file stays", _sum(result["full"], "left_over")
    if "soaks" in result:
        soaks = result["soaks"]
        done, n = "rounds of long runs", _sum(soaks, "rounds")
        leaks = sum(run["bytes_beyond"] > _ROUND for run in soaks)
        yield done, n, "memory grows as if rounds were kept twice", leaks
    if "threads" in result:
        crowd = result["threads"]
        done = f"rounds of {crowd['threads']} threads at once"
        yield done, crowd["rounds"], "an error", len(crowd["errors"])
        for fault in ("lost", "doubled", "wrong"):
            yield done, crowd["rounds"], f"a round is {fault} in the log", crowd[fault]
    if "interrupts" in result:
        cut = result["interrupts"]
        done, n = "interrupted calls", cut["interrupted"]
        yield done, n, "a round is lost", cut["lost"]
        yield done, n, "a round is doubled", cut["doubled"]
        yield done, n, "an answer differs from that of a twin left alone", cut["different"]
    if "clock" in result:
        clock = result["clock"]
        done, n = "jumps of the clock by a year", clock["jumps"]
        yield done, n, "an age is wrong", clock["wrong"]
        yield done, n, "a decision expires too early", clock["expired"]
        yield done, n, "a decision never expires", clock["kept"]
    if "studies" in result:
        study = result["studies"]
        done, n = "processes killed that work on a study", study["kills"]
        yield done, n, "an acknowledged decision or reward is lost", study["lost"]
        yield done, n, "a round is counted twice", study["doubled"]
        yield done, n, "a process fails", study["failed"]
        yield done, n, "it goes on otherwise than a twin left alone", study["different"]


def _sum(rows: list[Result], name: str) -> int:
    return sum(row[name] for row in rows)


def _files(result: Result) -> list[list[Any]]:
    """One row for each writer, of the steps that were measured."""
    steps = {
        step: {row["writer"]: row for row in result.get(step, [])}
        for step in ("kills", "at_once", "full")
    }
    rows = []
    for name in dict.fromkeys(name for step in steps.values() for name in step):
        kills, at_once, full = (step.get(name, {}) for step in steps.values())
        faults = [full.get(fault) for fault in ("broken", "silent", "foreign", "left_over")]
        rows.append(
            [name]
            + [kills.get(key) for key in ("kills", "broken", "lost", "left_over")]
            + [at_once.get(key) for key in ("reads", "broken")]
            + [full.get("tried"), sum(faults) if full else None]
        )
    return rows
