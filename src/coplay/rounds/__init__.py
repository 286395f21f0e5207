"""Runs of games in rounds of text: what a config describes, the players, a trial, evaluation and its records.

Matrix games have the same parts one level up; what both kinds share (training, runs, processes, reports) does not tell them apart.
"""
