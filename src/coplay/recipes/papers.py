"""The papers whose experiments there are recipes for, by the beginning of a recipe's name."""

from __future__ import annotations

from collections.abc import Mapping

PAPERS: Mapping[str, str] = {
    "shapellm": "Opponent Shaping in LLM Agents (ShapeLLM, ICLR 2026), with controls of our own",
    "adalign": "Learning Robust Social Strategies with Large Language Models",
    "sepo": "Safe Equilibrium Policy Optimization for Strategic Agent Policies (SEPO)",
    "mediation": "Learning to Mediate Equilibrium Selection in LLM Games, and firms that learn",
    "any": "Any game, yours too",
}
"""Titles for lists."""
