"""``python -m coplay`` and the command ``coplay``."""

import sys


def main() -> int:
    """Run the command line; Ctrl-C before it has begun ends it without a traceback."""
    try:
        from coplay.terminal.deafness import ended_if_deaf

        with ended_if_deaf():
            from coplay.cli.main import main

            return main()
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
