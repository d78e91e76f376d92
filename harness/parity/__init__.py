"""Numerical and performance parity of two binaries of one kernel on one GPU.

A bundle is written where the toolchains are (``build``) and run where the GPU is (``session``,
``python -m harness.parity``). The running side needs numpy, torch, msgspec and cuda-bindings
(which cuda-core brings), and of this project only ``harness.errors`` and this package.
"""
