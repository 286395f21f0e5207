"""``python -m coplay`` and the command ``coplay``."""

import sys


def main() -> int:
    """Run the command line; Ctrl-C while it is being imported ends it without a traceback."""
    try:
        from coplay.cli.main import main
    except KeyboardInterrupt:
        return 130
    return main()


if __name__ == "__main__":
    sys.exit(main())
