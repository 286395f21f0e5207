"""Kinds of attack, a file each. A file that is put here is found."""
