"""``python -m coplay`` is ``coplay``."""

import sys

from coplay.cli.main import main

sys.exit(main())
