"""Games as a log of Inspect (https://inspect.aisi.org.uk): a sample for each game, with what each seat read and replied as a chat."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from coplay.errors import missing_extra
from coplay.export.games import GameLog
from coplay.export.measures import measures_of
from coplay.files.writing import new_file
from coplay.games.records import ActRecord, EpisodeRecord, shown_action
from coplay.play.rows import told_to
from coplay.statistics import mean_ci95
from coplay.text.chat_parts import messages_of

_ROLES = {"system": "ChatMessageSystem", "user": "ChatMessageUser", "assistant": "ChatMessageAssistant"}


def write_inspect_log(log: GameLog, out: Path) -> None:
    """Write a ``.eval`` file.

    Args:
        log: the games.
        out: the file.

    Raises:
        UsageError: with the install line, if Inspect is not installed; if something is there already.
    """
    inspect = _Inspect()
    with new_file(out) as temporary:
        inspect.logs.write_eval_log(inspect.log(log), str(temporary), format="eval")


class _Inspect:
    """Makes Inspect's objects."""

    def __init__(self) -> None:
        try:
            self.logs, self.model = import_module("inspect_ai.log"), import_module("inspect_ai.model")
            self.events, self.scorer = import_module("inspect_ai.event"), import_module("inspect_ai.scorer")
        except ImportError:
            raise missing_extra("inspect_ai", "inspect") from None

    def log(self, log: GameLog) -> Any:
        """The whole log."""
        logs, started = self.logs, str(log.environment.get("started", "1970-01-01T00:00:00+00:00"))
        samples = [
            self.sample(log, game, name, started) for game, name in zip(log.games, _names(log.games), strict=True)
        ]
        identity = hashlib.sha256(f"{log.path.resolve()} {started}".encode()).hexdigest()[:22]
        git = log.environment.get("git") or {}
        packages = {name: str(version) for name, version in dict(log.environment.get("packages", {})).items()}
        spec = logs.EvalSpec(
            eval_id=identity,
            run_id=identity,
            task_id=identity,
            created=started,
            task=f"coplay/{log.game}",
            task_display_name=f"{log.game} ({log.name})",
            task_args=_plain(log.settings),
            dataset=logs.EvalDataset(name=log.game, samples=len(samples), sample_ids=[one.id for one in samples]),
            model=" / ".join(dict.fromkeys(log.players.values())) or "none",
            model_roles={seat: self.model.ModelConfig(model=name) for seat, name in log.players.items()},
            config=logs.EvalConfig(),
            revision=logs.EvalRevision(type="git", origin="", commit=git["commit"]) if git.get("commit") else None,
            packages=packages,
            metadata={"directory": log.name, "rounds": log.rounds, "coplay": packages.get("coplay", "unknown")},
        )
        results = logs.EvalResults(
            total_samples=len(samples), completed_samples=len(samples), scores=list(self.scores(log))
        )
        return logs.EvalLog(
            status="success",
            eval=spec,
            results=results,
            stats=logs.EvalStats(started_at=started, completed_at=started),
            samples=samples,
        )

    def scores(self, log: GameLog) -> Iterator[Any]:
        """The mean of each measure over the games of the log; its interval only where they are independent, not from along a training."""
        by_name: dict[str, list[float]] = {}
        for game in log.games:
            for name, value in measures_of(game).items():
                by_name.setdefault(name, []).append(value)
        for name, values in by_name.items():
            interval = mean_ci95(values)
            half = interval.half_width if log.intervals == "games" else None
            found = {"mean": interval.mean, "ci95": half}
            metrics = {
                key: self.logs.EvalMetric(name=key, value=value) for key, value in found.items() if value is not None
            }
            unscored = len(log.games) - len(values)
            yield self.logs.EvalScore(
                name=name, scorer=name, metrics=metrics, scored_samples=len(values), unscored_samples=unscored
            )

    def sample(self, log: GameLog, game: EpisodeRecord, name: str, started: str) -> Any:
        """A game: all that was read and said, in order, and by seat as spans of the transcript."""
        model, players = self.model, game["players"]
        states = " ".join(game["states"])
        return self.logs.EvalSample(
            id=name,
            epoch=1,
            input=f"{_place(game)}\n{log.game}: " + ", ".join(f"{seat} is {who}" for seat, who in players.items()),
            target="",
            messages=[message for said in _said(game) for message in self.exchange(said)],
            output=model.ModelOutput.from_content(model="coplay", content=states),
            scores={key: self.scorer.Score(value=value, answer=states) for key, value in measures_of(game).items()},
            metadata={
                "seed": game["seed"],
                "trial": game["step"],
                "game": game["game"],
                "episode": game["episode"],
                "players": players,
                "states": game["states"],
                "payoffs": {seat: [one["payoffs"][seat] for one in game["rounds"]] for seat in players},
                "void": [number for number, one in enumerate(game["rounds"], 1) if one.get("void")],
            },
            events=[event for seat in players for event in self.span(game, seat, started)],
        )

    def exchange(self, said: Said, *, titled: bool = True) -> list[Any]:
        """What a seat read before a reply, nothing of players that read no text, and the reply; each says whose it is.

        Args:
            said: the reply.
            titled: whether the messages begin with whose they are.
        """
        title = f"**{said.seat}, round {said.round}**\n\n" if titled else ""
        whose = {"seat": said.seat, "player": said.player, "round": said.round}
        parts = messages_of(said.act["prompt"]) if "prompt" in said.act else []
        asked = [
            getattr(self.model, _ROLES[part.role])(content=title + part.text, metadata=dict(whose)) for part in parts
        ]
        answer = self.model.ChatMessageAssistant(
            content=title + said.act["reply"],
            model=said.player,
            source="generate",
            metadata={**whose, **{key: value for key, value in said.about.items() if value is not None}},
        )
        return [*asked, answer]

    def span(self, game: EpisodeRecord, seat: str, started: str) -> Iterator[Any]:
        """A seat's replies as the transcript's span of an agent."""
        events, model, player = self.events, self.model, game["players"][seat]
        where = {"timestamp": started, "working_start": 0.0, "span_id": seat}
        yield events.SpanBeginEvent(id=seat, name=f"{seat} ({player})", type="agent", **where)
        for said in _said(game):
            if said.seat != seat:
                continue
            *asked, answer = self.exchange(said, titled=False)
            choice = model.ChatCompletionChoice(message=answer, stop_reason="stop")
            yield events.ModelEvent(
                model=player,
                role=seat,
                input=asked,
                tools=[],
                tool_choice="none",
                config=model.GenerateConfig(),
                output=model.ModelOutput(model=player, choices=[choice]),
                **where,
            )
        yield events.SpanEndEvent(id=seat, **where)


@dataclass(frozen=True)
class Said:
    """A reply of a game."""

    seat: str
    """Who replied."""
    player: str
    """Who sat there."""
    round: int
    """The round, from 1."""
    act: ActRecord
    """The reply."""
    about: Mapping[str, object]
    """What is kept of it besides the text, and, with a seat's last reply of a round, what the round gave it."""


def _said(game: EpisodeRecord) -> Iterator[Said]:
    """All replies of a game, in order."""
    for number, one in enumerate(game["rounds"], 1):
        last = {act["seat"]: act for act in one["acts"]}
        for act in one["acts"]:
            seat = act["seat"]
            about: dict[str, object] = {"action": shown_action(act), "legal": act["action"] is not None}
            about |= {key: act.get(key) for key in ("phase", "readers", "probs", "retries", "fallback")}
            if act is last[seat]:
                about |= {"payoff": one["payoffs"][seat], "void": one.get("void")}
                about |= {"dealt": one.get("dealt", {}).get(seat), "told": told_to(one, seat)}
            yield Said(seat, game["players"][seat], number, act, about)


def _names(games: Sequence[EpisodeRecord]) -> list[str]:
    """A name for each game. Inspect sorts by names, so numbers have as many digits as the largest."""
    numbers = [
        {"seed": one["seed"], "trial": one["step"], "game": one["game"], "episode": one["episode"]} for one in games
    ]
    digits = {key: max(len(str(one[key])) for one in numbers) for key in numbers[0]} if numbers else {}
    return ["-".join(f"{key}{str(value).zfill(digits[key])}" for key, value in one.items()) for one in numbers]


def _place(game: EpisodeRecord) -> str:
    """Where a game stands, for the list of samples, which cuts names off."""
    return f"seed {game['seed']}, trial {game['step']}, game {game['game']}, episode {game['episode']}"


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without what is empty."""
    return {key: value for key, value in settings.items() if value is not None}
