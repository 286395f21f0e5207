"""Games as a log of Inspect (https://inspect.aisi.org.uk): a sample for each game, with what each seat read and replied as a chat."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from coplay.errors import missing_extra
from coplay.export.games import GameLog
from coplay.export.measures import measures_of
from coplay.files.writing import new_file
from coplay.games.records import EpisodeRecord
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
        samples = [self.sample(log, game, started) for game in log.games]
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

    def sample(self, log: GameLog, game: EpisodeRecord, started: str) -> Any:
        """A game: all that was read and said, in order, and by seat as spans of the transcript."""
        model, players = self.model, {seat: one["player"] for seat, one in game["seats"].items()}
        states = " ".join(game["states"])
        return self.logs.EvalSample(
            id=f"seed{game['seed']}-trial{game['step']}-game{game['game']}-episode{game['episode']}",
            epoch=1,
            input=f"{log.game}: " + ", ".join(f"{seat} is {name}" for seat, name in players.items()),
            target="",
            messages=[message for number in range(len(game["states"])) for message in self.round(game, number)],
            output=model.ModelOutput.from_content(model="coplay", content=states),
            scores={name: self.scorer.Score(value=value) for name, value in measures_of(game).items()},
            metadata={
                "seed": game["seed"],
                "trial": game["step"],
                "game": game["game"],
                "episode": game["episode"],
                "players": players,
                "states": game["states"],
                "payoffs": {seat: [turn["payoff"] for turn in one["turns"]] for seat, one in game["seats"].items()},
            },
            events=[event for seat in game["seats"] for event in self.span(game, seat, started)],
        )

    def round(self, game: EpisodeRecord, number: int) -> Iterator[Any]:
        """What was read and said in a round, seat by seat; each message says whose it is."""
        for seat, one in game["seats"].items():
            for said in _said(one["turns"][number]):
                whose = {"seat": seat, "player": one["player"], "round": number + 1}
                title = f"**{seat}, round {number + 1}**\n\n"
                yield from self.asked(said, whose, title)
                yield self.answer(said, whose, title)

    def asked(self, said: Mapping[str, Any], whose: Mapping[str, object], title: str = "") -> list[Any]:
        """What a seat read before a reply; nothing of players that read no text."""
        parts = [] if said["prompt"] is None else messages_of(said["prompt"])
        return [
            getattr(self.model, _ROLES[part.role])(content=title + part.text, metadata=dict(whose)) for part in parts
        ]

    def answer(self, said: Mapping[str, Any], whose: Mapping[str, object], title: str = "") -> Any:
        """A reply, with the action it was parsed as."""
        told = {**whose, "action": said["action"], "legal": said["action"] is not None}
        for key in ("phase", "payoff", "probs", "dealt", "told", "to", "retries", "fallback"):
            if said.get(key) is not None:
                told[key] = said[key]
        return self.model.ChatMessageAssistant(
            content=title + said["reply"], model=str(whose["player"]), source="generate", metadata=told
        )

    def span(self, game: EpisodeRecord, seat: str, started: str) -> Iterator[Any]:
        """A seat's replies as the transcript's span of an agent."""
        events, model, one = self.events, self.model, game["seats"][seat]
        where = {"timestamp": started, "working_start": 0.0, "span_id": seat}
        yield events.SpanBeginEvent(id=seat, name=f"{seat} ({one['player']})", type="agent", **where)
        for number, turn in enumerate(one["turns"]):
            for said in _said(turn):
                whose = {"seat": seat, "player": one["player"], "round": number + 1}
                choice = model.ChatCompletionChoice(message=self.answer(said, whose), stop_reason="stop")
                yield events.ModelEvent(
                    model=one["player"],
                    role=seat,
                    input=self.asked(said, whose),
                    tools=[],
                    tool_choice="none",
                    config=model.GenerateConfig(),
                    output=model.ModelOutput(model=one["player"], choices=[choice]),
                    **where,
                )
        yield events.SpanEndEvent(id=seat, **where)


def _said(turn: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """All replies of a seat in a round, in order; none if it was not asked."""
    return [one for one in (*turn.get("before", ()), turn) if one["reply"] is not None]


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without what is empty."""
    return {key: value for key, value in settings.items() if value is not None}
