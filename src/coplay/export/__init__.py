"""Runs, recorded games and audits in the forms of other tools."""
