"""Meetings after training: an experiment's agents and the hard-coded ones, everybody with everybody, kept beside the runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.cross_play import CrossPlay, cross_play, replicates_of
from coplay.experiments import Experiment
from coplay.progress import tell
from coplay.request import Request, arm_directory
from coplay.rounds.config import RoundConfig
from coplay.runs import read_json, write_json
from coplay.text.rounds import Worded, worded

if TYPE_CHECKING:
    from coplay.rounds.agents import Agent


def meetings_file(out: Path, experiment: Experiment) -> Path:
    """Where an experiment's directory keeps who got what from whom."""
    return out / "meetings" / f"{experiment.name}.json"


def load_meetings(out: Path, experiment: Experiment) -> CrossPlay | None:
    """Who got what from whom; None if nobody meets in this experiment."""
    return CrossPlay.from_json(read_json(meetings_file(out, experiment))) if experiment.meets else None


@dataclass(frozen=True)
class Gathering:
    """Players about to play."""

    config: RoundConfig
    """The config that says which games they are dealt: those of its evaluation."""
    words: Worded
    """Their game."""
    agents: list[Agent]
    """Who they are, in the order of the names."""


def gather(
    names: Sequence[str], request: Request, first: Request, experiment: Experiment, out: Path, *, quiet: bool = False
) -> Gathering:
    """Load players by the names that an experiment has for them, and say that they meet.

    Args:
        names: arms by name, and scripted players.
        request: what is asked for.
        first: what the directory was made for.
        experiment: whose arms; all are trained.
        out: the experiment's directory.
        quiet: whether to say nothing.
    """
    from coplay.rounds.agents import agents_of

    config = request.config(experiment.arms[0])
    assert isinstance(config, RoundConfig)
    words = worded(config.game)
    arms = {arm.name: arm_directory(first, out, arm) for arm in experiment.arms}
    agents = agents_of([str(arms.get(name, name)) for name in names], words)
    if not quiet:
        tell(f"{experiment.name}: {', '.join(names)} meet")
    return Gathering(config, words, agents)


Met = dict[tuple[str, str, int, str, int, int], tuple[list[float], list[float]]]
"""What two players got from each other, by the runs' directories or scripted players' names, the seed, the game, its rounds and how many games."""


def let_meet(
    request: Request, first: Request, experiment: Experiment, out: Path, *, known: Met, quiet: bool = False
) -> None:
    """Let an experiment's agents meet, unless they have; all are trained. Each seed's games are dealt as in its evaluation.

    Args:
        request: what is asked for.
        first: what the directory was made for.
        experiment: who meets.
        out: the experiment's directory.
        known: meetings of other experiments, which are not played again; what is played is added.
        quiet: whether to say nothing.
    """
    path = meetings_file(out, experiment)
    if not experiment.meets or path.exists():
        return
    from coplay.rounds.evaluate import meet

    gathering = gather(experiment.meets, request, first, experiment, out, quiet=quiet)
    config, agents = gathering.config, gathering.agents

    def meeting(one: int, other: int, replicate: int) -> tuple[list[float], list[float]]:
        pair, seed = (agents[one], agents[other]), config.seeds[replicate]
        key = (pair[0].name, pair[1].name, seed, config.game, config.rounds, config.eval_games)
        if key not in known:
            players = (agent.player(replicate) for agent in pair)
            known[key] = meet(gathering.words, *players, seed=seed, rounds=config.rounds, episodes=config.eval_games)
        return known[key]

    found = cross_play(
        experiment.meets,
        meeting,
        game=config.game,
        rounds=config.rounds,
        episodes=config.eval_games,
        replicates=replicates_of([agent.seeds for agent in agents], experiment.meets),
    )
    path.parent.mkdir(exist_ok=True)
    write_json(path, found.as_json())
