"""A chat without tools, in the process of verifiers: the conversation goes to the model, its reply comes back.

verifiers' own one starts a program for each turn, and installs what that needs.
"""

from __future__ import annotations

from typing import Any

from coplay.adapters.verifiers.package import vf


class ChatHarnessConfig(vf.HarnessConfig):  # type: ignore[misc]
    """It has no settings of its own."""


class ChatHarness(vf.Harness[ChatHarnessConfig]):  # type: ignore[misc]
    """See the module."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self, ctx: Any, trace: Any, runtime: Any, endpoint: str, secret: str, mcp_urls: dict[str, str], data: Any
    ) -> Any:
        """Ask the model once, with the whole conversation.

        Args:
            ctx: the model's name and settings.
            trace: the record of the rollout, which the endpoint keeps.
            runtime: not used.
            endpoint: where requests are recorded and sent on.
            secret: the key for it.
            mcp_urls: not used.
            data: the task, whose prompt is the conversation.
        """
        from openai import APIError, AsyncOpenAI
        from verifiers.v1.dialects.chat import message_to_wire

        system, prompt = self.resolve_prompt(data)
        messages = [{"role": "system", "content": system}] if system else []
        if isinstance(prompt, str):
            messages.append({"role": "user", "content": prompt})
        else:
            messages += [message_to_wire(message) for message in prompt or ()]
        async with AsyncOpenAI(base_url=endpoint, api_key=secret) as client:
            try:
                await client.chat.completions.create(model=ctx.model, messages=messages)
            except APIError as error:  # a limit of the rollout is one too: verifiers tells them apart by the trace
                return vf.ProgramResult(1, "", f"{type(error).__name__}: {error}")
        return vf.ProgramResult(0, "", "")
