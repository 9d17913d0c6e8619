"""Findings about what a log has beside its four columns: who came back, what was available."""

from collections.abc import Iterator

from policysieve.arrays import shown
from policysieve.health.finding import Finding
from policysieve.health.weight_tests import LogSums

__all__ = ["beside_findings"]


def beside_findings(sums: LogSums) -> Iterator[Finding]:
    """Findings about units and what was available, if there is anything to say."""
    if sums.returning.met is not None:
        yield _units(sums)
    elif sums.returning.soon_again().too_often:
        yield _again(sums)
    if sums.available.known:
        yield _available(sums)


def _units(sums: LogSums) -> Finding:
    met = sums.returning.met
    assert met is not None
    units, rounds = len(met), sums.rounds
    name, visits = sums.returning.largest
    share = (rounds - units) / rounds
    numbers = {
        "units": units,
        "rounds": rounds,
        "returning": rounds - units,
        "share": share,
        "largest": name,
        "largest_rounds": visits,
    }
    if units == rounds:
        return Finding("units", "ok", f"{units:,} units", "Nobody comes back.", numbers)
    return Finding(
        "units",
        "warning",
        f"{share:.1%} returning",
        f"{rounds - units:,} of {rounds:,} rounds ({share:.1%}) are of units that had come before; "
        f"{shown(name)} has {visits:,}. Rounds of one unit are not independent, so only the first "
        f"of each counts as evidence, {units:,} in all.",
        numbers,
    )


def _again(sums: LogSums) -> Finding:
    found = sums.returning.soon_again()
    return Finding(
        "returning users",
        "warning",
        f"{found.again:,} contexts come again soon",
        f"Of {found.rounds:,} rounds, {found.again:,} have a context that was there within the "
        f"last {found.within:,} rounds, and in random order about {found.expected:,.0f} would: "
        "users may come back, or rounds may be sorted. Rounds of one user are not independent, and "
        "what is concluded is then too sure of itself. Name the user or session of each round "
        "(units=, or --map unit=COLUMN).",
        {**found._asdict()},
    )


def _available(sums: LogSums) -> Finding:
    found, name = sums.available, "availability"
    value = f"{found.fewest:,} to {found.most:,} actions"
    numbers = {
        "not_available": found.wrong,
        "fewest": found.fewest,
        "most": found.most,
        "differs": found.differs,
    }
    if found.first_wrong is not None:
        row, item = found.first_wrong
        return Finding(
            name,
            "broken",
            f"{found.wrong:,} not available",
            f"{found.wrong:,} of {sums.rounds:,} rounds show an item that was not available, the "
            f"first is action {item} in round {row:,}: what was available is not what the log "
            "says, or is of another time.",
            {**numbers, "first_round": row, "first_action": item},
        )
    if not found.differs:
        text = (
            "What was available is the same in all rounds: it says nothing that the number of "
            "actions does not say."
        )
        return Finding(name, "ok", f"always {found.most:,} actions", text, numbers)
    return Finding(name, "ok", value, "All that was shown was available.", numbers)
