"""The command line ``tlx-equiv``: thin commands over the engine."""
