"""Theoretical occupancy: the share of a multiprocessor's warps that a kernel can keep resident."""

from __future__ import annotations

from typing import NamedTuple

from harness.model import Target

SIMDS = 4


class Limits(NamedTuple):
    """What one SM or CU can hold. ``registers`` are 32-bit registers of one warp's lane that
    each of its four SIMDs (sub-partitions) can give to its warps; memory is in bytes; 0
    ``barriers`` are no limit."""

    warps: int
    groups: int
    registers: int
    register_granule: int
    shared: int
    shared_granule: int
    shared_reserved: int
    barriers: int


def _nvidia(shared_kib: int, barriers: int) -> Limits:
    # 65,536 registers per SM: 512 for each lane of a warp in each of its four sub-partitions,
    # allocated 256 to a warp at a time: 8 for each lane.
    return Limits(64, 32, 512, 8, shared_kib << 10, 128, 1 << 10, barriers)


def _cdna(lds_kib: int, granule: int) -> Limits:
    return Limits(32, 32, 512, 8, lds_kib << 10, granule, 0, 0)


LIMITS = {
    "cuda:80": _nvidia(164, 0),
    "cuda:90": _nvidia(228, 64),
    "cuda:100": _nvidia(228, 64),
    "hip:gfx942": _cdna(64, 512),
    "hip:gfx950": _cdna(160, 1280),
}


def occupancy(
    target: Target, registers: int, shared_bytes: int, threads: int, barriers: int = 0
) -> tuple[float | None, str]:
    """Resident warps over the most that fit (0 to 1), and what limits them; (None, "") for an
    architecture whose limits are not known here.

    ``registers`` per thread at launch, ``shared_bytes`` per block without what the driver
    reserves, ``threads`` per block, ``barriers`` the hardware barriers that a block uses. The
    limiter is ``registers``, ``shared memory``, ``barriers``, ``blocks`` or ``warps``; 0 means
    that not even one block fits. Clusters, and registers that warps hand to each other at run
    time, are not taken into account; nor are AMD's scalar registers.

    Where the numbers are from:

    - NVIDIA 8.0, 9.0 and 10.0: 64 warps, 32 blocks and 64 Ki registers per SM, 164, 228 and
      228 KiB of shared memory: CUDA C++ Programming Guide, "Technical Specifications per
      Compute Capability". 1 KiB of shared memory reserved for each block: NVIDIA Ampere GPU
      Architecture, Hopper and Blackwell Tuning Guides, "Unified Shared Memory/L1/Texture
      Cache". Registers given by 256 to a warp of one of four sub-partitions, shared memory by
      128 bytes, from 9.0 on 64 barriers: ``cuda_occupancy.h`` of the CUDA toolkit.
    - AMD gfx942 and gfx950: 64 and 160 KiB of LDS and 512 KiB of vector registers (512 for each
      lane of each of four SIMDs) per CU: ROCm documentation, "AMD GPU specifications". 8 waves
      per SIMD, architectural and accumulation registers from one file, given by 8: AMD Instinct
      MI300 and CDNA4 Instruction Set Architecture reference guides, and LLVM's
      ``AMDGPUBaseInfo.cpp``. LDS given by 512 and 1280 bytes: LLVM's User Guide for AMDGPU
      Backend, ``GRANULATED_LDS_SIZE``.
    """
    limits = LIMITS.get(str(target))
    if limits is None:
        return None, ""
    warps = _up(threads, target.warp_size) // target.warp_size
    allocated = _up(registers, limits.register_granule)
    shared = _up(shared_bytes + limits.shared_reserved, limits.shared_granule)
    fits = {
        "warps": limits.warps // warps,
        "registers": limits.registers // allocated * SIMDS // warps if allocated else limits.warps,
        "shared memory": limits.shared // shared if shared else limits.groups,
        "blocks": limits.groups,
        "barriers": limits.barriers // barriers if barriers and limits.barriers else limits.groups,
    }
    limiter = min(fits, key=lambda name: fits[name])
    return fits[limiter] * warps / limits.warps, limiter


def _up(value: int, granule: int) -> int:
    return -(-value // granule) * granule
