"""``coplay export``: runs, recorded games and audits in the forms of other tools."""

from __future__ import annotations

import argparse
import json

from coplay.cli.parser import Parser
from coplay.export.names import FORMATS, TABLES


def export_options(sub: Parser) -> None:
    """Its options."""
    sub.add_argument("directory", metavar="DIR", help="a run, games of `coplay eval --record`, or an audit")
    text = "a log of Inspect, Every Eval Ever's JSON, or a table"
    sub.add_argument("--to", required=True, choices=FORMATS, metavar="FORMAT", help=f"{text}: {', '.join(FORMATS)}")
    text = "of csv and parquet (default: the first that DIR has)"
    sub.add_argument("--table", choices=TABLES, metavar="TABLE", help=f"{', '.join(TABLES)}; {text}")
    sub.option("--out PATH", "where to write; it must be new (default: DIR with the form's ending)")
    sub.flag("--json", "print a JSON list of what was written")


def export(options: argparse.Namespace) -> int:
    """``coplay export``."""
    from coplay.export.formats import export as write
    from coplay.files.naming import user_path

    out = None if options.out is None else user_path(options.out)
    written = [str(path) for path in write(user_path(options.directory), options.to, out, table=options.table)]
    print(json.dumps(written) if options.json else "\n".join(f"wrote {path}" for path in written))
    return 0
