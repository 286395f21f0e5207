"""Asking an endpoint for many replies: side by side up to a limit, within the budget, each with at most ``retries + 1`` requests."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from coplay.errors import Stopped
from coplay.players.endpoint_answers import Answers
from coplay.players.endpoint_client import Client
from coplay.players.endpoint_gate import Answer, Asked
from coplay.players.endpoint_key import Key
from coplay.players.endpoint_settings import EndpointSettings
from coplay.players.endpoint_usage import Spent

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 8.0
"""Seconds before a request is tried again, doubled each time, where the endpoint does not say."""


class EndpointFailed(Stopped):
    """An endpoint does not answer, or not in a way that can be used."""


class BudgetSpent(Stopped):
    """The tokens or the money that may be spent are spent, or might be by the next request."""


def ask_all(asked: Sequence[Asked], settings: EndpointSettings, key: Key, answers: Answers) -> None:
    """Ask for replies, which are kept.

    Raises:
        EndpointFailed: if one cannot be had. Those on their way may still arrive, for as long as an answer is waited for, and are kept; no
            other is begun.
        BudgetSpent: before a request that might take more than is left; likewise.
        AnswersFailed: if answers cannot be kept; likewise.
    """
    asyncio.run(_Asking(settings, key, answers).all(asked))


class _Asking:
    """The requests of one call."""

    def __init__(self, settings: EndpointSettings, key: Key, answers: Answers) -> None:
        self._settings, self._key, self._answers = settings, key, answers
        self._places = asyncio.Semaphore(settings.concurrency)
        self._stopped = asyncio.Event()
        self._settled = asyncio.Condition()
        self._under_way = 0
        unlimited = settings.token_budget is None and settings.cost_budget is None
        self._fits = None if unlimited else self._is_within_budget

    async def all(self, asked: Sequence[Asked]) -> None:
        """See :func:`ask_all`."""
        async with Client(self._settings, self._key) as client:
            tasks = [asyncio.create_task(self._one(client, one)) for one in asked]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            await asyncio.wait(tasks, timeout=self._settings.timeout)  # what is on its way is paid for, and kept
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def _one(self, client: Client, asked: Asked) -> None:
        """Ask until there is a reply, unless another request has failed for good."""
        async with self._places:
            try:
                await self._tries(client, asked)
            except Exception:
                self._stopped.set()
                async with self._settled:
                    self._settled.notify_all()
                raise

    async def _tries(self, client: Client, asked: Asked) -> None:
        answer = Answer()
        for tries in range(self._settings.retries + 1):
            if tries:
                doubled = min(_FIRST_PAUSE * 2 ** (tries - 1), _LONGEST_PAUSE)
                await self._pause(doubled if answer.pause is None else answer.pause)
            number = await self._reserved(asked.reserved)
            if number is None:
                return
            answer = await self._sent(client, asked, number)
            if answer.reply is not None:
                return
            if not answer.passing:
                break
        raise EndpointFailed(self._told(answer.problem))

    async def _sent(self, client: Client, asked: Asked, number: int) -> Answer:
        """Send a request once, and count what it has used; where that is not known, its reservation stays."""
        self._under_way += 1
        try:
            answer = await client.ask(asked)
            if answer.spent is not None:
                self._answers.settle(number, answer.spent, asked.name, answer.reply)
            return answer
        finally:
            self._under_way -= 1
            async with self._settled:
                self._settled.notify_all()

    async def _reserved(self, most: Spent) -> int | None:
        """The number of a request that may be sent now; waits for what others leave over. None if another request has failed for good.

        Raises:
            BudgetSpent: if it might take more than is left when none is on its way.
        """
        async with self._settled:
            while not self._stopped.is_set():
                number = self._answers.reserve(most, self._fits)
                if number is not None:
                    return number
                if not self._under_way:
                    raise BudgetSpent(self._over(most))
                await self._settled.wait()
        return None

    async def _pause(self, seconds: float) -> None:
        """Wait, but no longer than until another request fails for good."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), seconds)

    def _is_within_budget(self, spent: Spent) -> bool:
        tokens, money = self._settings.token_budget, self._settings.cost_budget
        return (tokens is None or spent.tokens <= tokens) and (money is None or spent.money(self._settings) <= money)

    def _over(self, most: Spent) -> str:
        """Which budget is spent."""
        settings, spent = self._settings, self._answers.spent
        if settings.token_budget is not None and (spent + most).tokens > settings.token_budget:
            what, left, needed, name = "tokens", f"{settings.token_budget:,}", f"{most.tokens:,}", "token_budget"
            used = f"{spent.tokens:,}"
        else:
            what, left, needed, name = (
                "money",
                f"{settings.cost_budget:g}",
                f"{most.money(settings):.2g}",
                "cost_budget",
            )
            used = f"{spent.money(settings):.4g}"
        return (
            f"the budget does not cover the next request: of {left} ({name}, {what}) {used} are spent, and a request may take up to"
            f" {needed}; raise {name} to go on"
        )

    def _told(self, problem: str) -> str:
        place = self._key.hidden_in(f"{self._settings.model} at {self._settings.base_url}")
        return f"{place} {problem}; what was answered is kept"
