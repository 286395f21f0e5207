"""The command line. Verbs import what they need when they run, so that ``--help`` and mistakes answer at once."""
