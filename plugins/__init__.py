"""Toolchain pins and plugin descriptors, as data; ``harness.toolchains`` reads them."""
