"""Tasks: work that is done as a whole and whose result is files, in this process or on a Ray cluster. What a task does is not known here."""
