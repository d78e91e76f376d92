"""Runs inside a toolchain's interpreter. Standard library only; Python 3.10 or newer."""
