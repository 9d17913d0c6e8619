"""``policysieve bench``: measure on this machine."""

from dataclasses import replace
from pathlib import Path

import click

from policysieve.cli.bench_output import (
    BenchOutput,
    disk_option,
    names_option,
    output_options,
    quick_option,
)
from policysieve.cli.commands import group
from policysieve.cli.options import ClusterOptions, cluster_options, count_option

__all__ = ["bench"]


_FORMERLY = {"--out": "--folder"}


@group(
    short_help="The numbers of the docs, measured on this machine.",
    examples=("policysieve bench speed --folder speed --report speed/page.html",),
)
def bench() -> None:
    """Measure on this machine: speed as ratios within one run, the rest by counting."""


@bench.command(
    short_help="Rounds per second, next to naive code and the memory's speed.",
    examples=("policysieve bench speed --folder speed",),
    formerly=_FORMERLY,
)
@output_options("speed.json and the plots")
def speed(output: BenchOutput) -> None:
    """Measure learners and certificates next to naive code, the memory and the class size.

    Takes about four minutes on two cores.
    """
    from policysieve.bench.speed.measuring import measure_speed

    output.give("speed", measure_speed(output.say_step))


@bench.command(
    short_help="False certificates on null worlds, and rounds to a true one.",
    examples=("policysieve bench certificates --runs 100 --seeds 2 --folder certificates",),
    formerly=_FORMERLY,
)
@count_option("--runs", 300, "Runs on each null world.")
@count_option("--seeds", 5, "Seeds of the race.")
@cluster_options
@output_options("certificates.json and the plot; what it holds already is not measured again")
def certificates(runs: int, seeds: int, cluster: ClusterOptions, output: BenchOutput) -> None:
    """Count false certificates on null worlds, and race the methods to a true one.

    Null worlds are made to fool a certificate. Takes up to ten minutes on two cores.
    """
    from policysieve.bench.certificates.measuring import measure_certificates

    with output.cells(cluster) as running:
        result = measure_certificates(runs=runs, seeds=seeds, **running)
    output.give("certificates", result)


@bench.command(
    short_help="All learners: rounds until they are right, and until they prove it.",
    examples=(
        "policysieve bench samples --tasks digits --learners Sieve,Uniform --seeds 5 --folder race",
    ),
    formerly=_FORMERLY,
)
@names_option("--tasks", "policysieve.bench.race.tasks", "TASKS")
@names_option(
    "--learners",
    "policysieve.bench.race.measuring",
    "LEARNERS",
    "VowpalWabbit needs the extra peers.",
)
@count_option("--seeds", 40, "Runs of each learner on each task.")
@count_option("--proof-seeds", 5, "Runs until a certificate, of each learner on each task.")
@count_option("--most", 10_000, "Rounds after which a learner that is not right yet is given up.")
@click.option("--proofs-only", is_flag=True, help="Leave out the rounds until they are right.")
@cluster_options
@output_options("samples.json and the plots; what it holds already is not measured again")
def samples(
    tasks: tuple[str, ...] | None,
    learners: tuple[str, ...] | None,
    seeds: int,
    proof_seeds: int,
    most: int,
    proofs_only: bool,
    cluster: ClusterOptions,
    output: BenchOutput,
) -> None:
    """Race all learners: rounds until they are right, and until they can prove it.

    Takes about an hour on two cores, without --tasks and --learners.
    """
    from policysieve.bench.race.measuring import LEARNERS, RaceSettings, measure_race
    from policysieve.bench.race.tasks import TASKS

    with output.cells(cluster) as running:
        result = measure_race(
            tasks or tuple(TASKS),
            learners or LEARNERS,
            proofs_only=proofs_only,
            settings=RaceSettings(seeds=seeds, proof_seeds=proof_seeds, most=most),
            **running,
        )
    output.give("samples", result)


@bench.command(
    short_help="How rounds grow with epsilon, actions, sparsity and policies.",
    examples=("policysieve bench scaling --sweeps epsilon_few --kinds certified --learners Sieve",),
    formerly=_FORMERLY,
)
@names_option("--sweeps", "policysieve.bench.scaling.sweeps", "SWEEPS")
@names_option("--kinds", "policysieve.bench.scaling.measuring", "KINDS")
@names_option("--learners", "policysieve.bench.scaling.sweeps", "LEARNERS")
@click.option(
    "--seeds",
    type=click.IntRange(1),
    help="Runs of each learner at each point; 10, or 20 with --full. Half of it for certificates.",
)
@click.option("--full", is_flag=True, help="More points and larger sizes.")
@cluster_options
@output_options(
    "scaling.json and the plots; what it holds already is not measured again, and rows of other "
    "sweeps are kept"
)
def scaling(
    sweeps: tuple[str, ...] | None,
    kinds: tuple[str, ...] | None,
    learners: tuple[str, ...] | None,
    seeds: int | None,
    full: bool,
    cluster: ClusterOptions,
    output: BenchOutput,
) -> None:
    """Measure how rounds grow with 1/epsilon, actions, sparsity, lists and policies.

    Takes about six minutes on two cores; with --full, 45.
    """
    from policysieve.bench.scaling.measuring import KINDS, ScalingSettings, measure_scaling
    from policysieve.bench.scaling.sweeps import LEARNERS, SWEEPS

    with output.cells(cluster) as running:
        result = measure_scaling(
            sweeps or tuple(SWEEPS),
            kinds=kinds or KINDS,
            learners=learners or LEARNERS,
            settings=ScalingSettings(seeds=seeds or (20 if full else 10), full=full),
            **running,
        )
    output.give("scaling", result)


@bench.command(
    short_help="Bandit classifiers: accuracy on held-out rows, and speed.",
    examples=("policysieve bench classify --tasks digits --contestants policysieve --seeds 1",),
    formerly=_FORMERLY,
)
@names_option("--tasks", "policysieve.bench.classify.tasks", "CLASSIFY_TASKS")
@names_option(
    "--contestants",
    "policysieve.bench.classify.contestants",
    "CONTESTANTS",
    "All but the first three and the last need the extra peers.",
)
@count_option("--seeds", 5, "Runs of each contestant on each task.")
@count_option("--rounds", 20_000, "Rounds of each run.")
@count_option("--batch", 100, "Rounds that are asked for at once.")
@output_options("classify.json and the plot; what it holds already is not measured again")
def classify(
    tasks: tuple[str, ...] | None,
    contestants: tuple[str, ...] | None,
    seeds: int,
    rounds: int,
    batch: int,
    output: BenchOutput,
) -> None:
    """Compare bandit classifiers: accuracy on held-out rows, and rounds per second.

    All 880 runs take up to three minutes each, one after the other: several hours. With
    --contestants policysieve it takes about ten minutes.
    """
    from policysieve.bench.classify.contestants import CONTESTANTS
    from policysieve.bench.classify.measuring import ClassifySettings, measure_classifiers
    from policysieve.bench.classify.tasks import CLASSIFY_TASKS

    with output.cells_bar() as progress:
        result = measure_classifiers(
            tasks or tuple(CLASSIFY_TASKS),
            contestants or tuple(CONTESTANTS),
            settings=ClassifySettings(seeds=seeds, rounds=rounds, batch=batch),
            folder=output.folder,
            progress=progress,
        )
    output.give("classify", result)


@bench.command(
    short_help="Classifiers that show lists: right labels on held-out rows.",
    examples=("policysieve bench lists --contestants policysieve --seeds 1 --folder lists",),
)
@names_option("--tasks", "policysieve.bench.classify.lists.tasks", "LIST_TASKS")
@names_option(
    "--contestants",
    "policysieve.bench.classify.lists.contestants",
    "LIST_CONTESTANTS",
    "All but the first two and the last need the extra peers.",
)
@count_option("--seeds", 3, "Runs of each contestant on each task.")
@count_option("--rounds", 5_000, "Rounds of each run.")
@count_option("--batch", 100, "Rounds that are asked for at once.")
@output_options("lists.json and the plot; what it holds already is not measured again")
def lists(
    tasks: tuple[str, ...] | None,
    contestants: tuple[str, ...] | None,
    seeds: int,
    rounds: int,
    batch: int,
    output: BenchOutput,
) -> None:
    """Compare classifiers that show lists of labels: how many are right on held-out rows.

    Takes about ten minutes on one core.
    """
    from policysieve.bench.classify.lists.contestants import LIST_CONTESTANTS
    from policysieve.bench.classify.lists.measuring import measure_lists
    from policysieve.bench.classify.lists.tasks import LIST_TASKS
    from policysieve.bench.classify.measuring import ClassifySettings

    with output.cells_bar() as progress:
        result = measure_lists(
            tasks or tuple(LIST_TASKS),
            contestants or tuple(LIST_CONTESTANTS),
            settings=ClassifySettings(seeds=seeds, rounds=rounds, batch=batch),
            folder=output.folder,
            progress=progress,
        )
    output.give("lists", result)


@bench.command(
    short_help="What goes wrong when disks fill up and processes are killed.",
    examples=("policysieve bench faults --quick",),
)
@quick_option
@names_option("--steps", "policysieve.bench.faults.measuring", "STEPS")
@output_options(
    "faults.json and the plot; what it holds of other --steps is kept, if the settings are the same"
)
def faults(quick: bool, steps: tuple[str, ...] | None, output: BenchOutput) -> None:
    """Try bad input, killed writers, full disks, threads, interrupts, clocks and long runs.

    Counts what went wrong, which should be nothing. Takes about ten minutes; with --quick, two.
    """
    from policysieve.bench.faults.measuring import STEPS, FaultSettings, measure_faults

    result = measure_faults(
        FaultSettings.quick() if quick else FaultSettings(),
        output.say_step,
        steps=steps or tuple(STEPS),
        kept=output.kept("faults"),
    )
    output.give("faults", result)


@bench.command(
    short_help="A durable study next to Optuna: speed, size, processes.",
    examples=("policysieve bench study --quick",),
)
@quick_option
@disk_option
@output_options("study.json")
def study(quick: bool, disk: Path | None, output: BenchOutput) -> None:
    """Measure a durable study next to Optuna: its speed, its size, and many processes at once.

    Takes about a minute; with --quick, half of that.
    """
    from policysieve.bench.study.measuring import StudySettings, measure_study

    settings = StudySettings.quick() if quick else StudySettings()
    output.give("study", measure_study(settings, output.say_step, disk))


@bench.command(
    short_help="Logs in parts and candidates in shards, on Ray clusters.",
    examples=("policysieve bench scale --quick",),
)
@quick_option
@click.option(
    "--rounds",
    type=click.IntRange(1),
    help="Rounds of the log that one worker, and then two, select from: 1e8, or 1e6 with --quick.",
)
@disk_option
@names_option("--steps", "policysieve.bench.scale.measuring", "STEPS")
@output_options("scale.json; what it holds of other --steps is kept, if the settings are the same")
def scale(
    quick: bool,
    rounds: int | None,
    disk: Path | None,
    steps: tuple[str, ...] | None,
    output: BenchOutput,
) -> None:
    """Measure logs in parts and candidates in shards, on Ray clusters of this machine.

    Takes about twenty minutes on two cores; with --quick, a few. Needs the extra ray.
    """
    from policysieve.bench.scale.measuring import STEPS, ScaleSettings, measure_scale

    settings = ScaleSettings.quick() if quick else ScaleSettings()
    if rounds is not None:
        settings = replace(settings, rounds=rounds)
    result = measure_scale(
        settings,
        output.say_step,
        disk,
        steps=steps or tuple(STEPS),
        kept=output.kept("scale"),
    )
    output.give("scale", result)


@bench.command(
    short_help="The HTTP service next to a bare FastAPI app.",
    examples=("policysieve bench service --quick",),
)
@quick_option
@click.option("--soak", is_flag=True, help="Let people come for ten minutes, not for one.")
@disk_option
@output_options("service.json")
def service(quick: bool, soak: bool, disk: Path | None, output: BenchOutput) -> None:
    """Measure the HTTP service next to a bare FastAPI app: speed, waiting, errors and memory.

    Everything runs on 127.0.0.1. Takes about four minutes; with --soak eleven more, with --quick
    half a minute.
    """
    from policysieve.bench.service.measuring import ServiceSettings, measure_service

    settings = ServiceSettings.quick() if quick else ServiceSettings()
    if soak:
        settings = replace(settings, soak_seconds=600.0)
    output.give("service", measure_service(settings, output.say_step, disk))


@bench.command(
    short_help="Forecasts of the rounds to a proof, next to what it took.",
    examples=("policysieve bench forecast --tasks close_10 --seeds 10 --made-up 20",),
)
@names_option("--tasks", "policysieve.bench.race.tasks", "TASKS")
@count_option("--seeds", 5, "Runs of each task.")
@count_option("--made-up", 100, "Made-up tasks, like those on which the forecast was chosen.")
@cluster_options
@output_options("forecast.json and the plot; what it holds already is not measured again")
def forecast(
    tasks: tuple[str, ...] | None,
    seeds: int,
    made_up: int,
    cluster: ClusterOptions,
    output: BenchOutput,
) -> None:
    """Forecast the rounds to a proof on the way, and compare with what it took.

    Takes about ten minutes on two cores, most of them to fit the candidates of real data.
    """
    from policysieve.bench.cells import check_names
    from policysieve.bench.forecast.measuring import ForecastSettings, measure_forecasts
    from policysieve.bench.race.tasks import TASKS

    names = tasks or tuple(TASKS)
    check_names("tasks", names, TASKS)
    with output.cells(cluster) as running:
        result = measure_forecasts(
            {name: TASKS[name] for name in names},
            settings=ForecastSettings(seeds=seeds, made_up=made_up),
            **running,
        )
    output.give("forecast", result)
