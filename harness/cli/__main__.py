"""``python -m harness.cli``: the same as ``tlx-equiv``."""

from harness.cli.app import main

main()
