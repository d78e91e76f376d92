"""CUDA C kernels of y = x + 1, right and with planted faults, compiled by NVRTC for the tests.

All take (x, y, n, global scratch, profile scratch); one CTA of 128 threads does one row.
"""

from __future__ import annotations

import importlib

ARGUMENTS = "const float *x, float *y, int n, char *scratch, char *profile"
ROW = "const float *in = x + (long)blockIdx.x * n; float *out = y + (long)blockIdx.x * n;"
SYNC = 'asm volatile("barrier.cluster.arrive;\\nbarrier.cluster.wait;" ::: "memory");'
EACH = "for (int i = threadIdx.x; i < n; i += 128)"

RIGHT = {
    "right": f"{EACH} out[i] = in[i] + 1.0f;",
    "otherwise": "for (int i = n - 1 - threadIdx.x; i >= 0; i -= 128) out[i] = 1.0f + in[i];",
    "shared": f"""
        extern __shared__ float big[];  // the last of 100 KiB
        float *last = big + 100 * 256 - 512;
        {EACH} last[i] = in[i];
        __syncthreads();
        {EACH} out[i] = last[i] + 1.0f;""",
    "scratch": f"""
        float *mine = (float *)(scratch + blockIdx.x * 2048);
        {EACH} mine[i] = in[i];
        __syncthreads();
        {EACH} out[i] = mine[i] + 1.0f;""",
    "cluster": f"""
        // Each row is read by the other CTA of its cluster of two, and fetched from there.
        __shared__ float row[512];
        const float *its = x + (long)(blockIdx.x ^ 1) * n;
        {EACH} row[i] = its[i];
        {SYNC}
        unsigned here = (unsigned)__cvta_generic_to_shared(row), other = (blockIdx.x ^ 1) & 1;
        unsigned there;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(other));
        {EACH} {{
            float v;
            asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(there + 4 * i));
            out[i] = v + 1.0f;
        }}
        {SYNC}""",
    "cooperative": f"""
        // A barrier of the whole grid: ends only if all CTAs run at the same time.
        __shared__ int all;
        if (threadIdx.x == 0) {{
            atomicAdd((int *)scratch, 1);
            while (atomicAdd((int *)scratch, 0) < gridDim.x) {{ }}
        }}
        __syncthreads();
        {EACH} out[i] = in[i] + 1.0f;""",
}

FAULTS = {
    "constant": f"{EACH} out[i] = in[i] + 2.0f;",
    "no_wait": f"""
        __shared__ float row[512];
        {EACH} {{
            unsigned to = (unsigned)__cvta_generic_to_shared(row + i);
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(in + i));
            out[i] = *(volatile float *)(row + i) + 1.0f;
        }}
        asm volatile("cp.async.wait_all;");""",
    "stray": f"""{EACH} out[i] = in[i] + 1.0f;
        if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) out[n + 3] = 7.0f;""",
    "race": f"""{EACH} out[i] = in[i] + 1.0f;
        __syncthreads();
        if (threadIdx.x == 0) *(volatile float *)(y + 5) = (float)blockIdx.x;""",
    "illegal": f"{EACH} out[i] = in[i] + 1.0f; if (n > 0) *(volatile float *)16 = 1.0f;",
    "endless": f"{EACH} out[i] = in[i] + 1.0f; while (*(volatile const float *)x == *x || n) {{ }}",
    "forgets": "for (int i = threadIdx.x; i < n - 1; i += 128) out[i] = in[i] + 1.0f;",
}

SOURCES = {**RIGHT, **FAULTS}


def compile_kernel(name: str, arch: str) -> bytes:
    """The cubin of a kernel called ``add_one`` for ``arch`` (``sm_90``)."""
    nvrtc = importlib.import_module("cuda.bindings.nvrtc")

    def call(function: str, *arguments: object) -> object:
        status, *results = getattr(nvrtc, function)(*arguments)
        if int(status):
            raise RuntimeError(f"{function}: {status.name}{log()}")
        return results[0] if results else None

    def log() -> str:
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        text = b" " * size
        nvrtc.nvrtcGetProgramLog(program, text)
        return "\n" + text.decode()

    source = f'extern "C" __global__ void add_one({ARGUMENTS}) {{ {ROW} {SOURCES[name]} }}'
    program = None
    program = call("nvrtcCreateProgram", source.encode(), b"k.cu", 0, [], [])
    options = [f"--gpu-architecture={arch}".encode()]
    call("nvrtcCompileProgram", program, len(options), options)
    size = call("nvrtcGetCUBINSize", program)
    assert isinstance(size, int)
    cubin = b" " * size
    call("nvrtcGetCUBIN", program, cubin)
    return cubin


def flip_rounding(cubin: bytes) -> bytes:
    """Turn every ``FADD ..., 1.0`` of a cubin into ``FADD.RM`` (rounding down), one bit each."""
    one, add = b"\x00\x00\x80\x3f", b"\x21\x74"
    flipped = bytearray(cubin)
    for at in range(0, len(cubin) - 16, 16):
        if cubin[at : at + 2] == add and cubin[at + 4 : at + 8] == one:
            flipped[at + 9] ^= 1 << 6
    if flipped == cubin:
        raise ValueError("no FADD of 1.0 in this cubin")
    return bytes(flipped)
