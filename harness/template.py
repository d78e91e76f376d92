"""The template of a kernel folder: small, complete, and it runs as it is."""

from __future__ import annotations

from pathlib import Path

from harness.errors import HarnessError

KERNEL = '''"""Copy through shared memory. Replace this by your kernel."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def {function}(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    buffers = tlx.local_alloc((BLOCK,), tl.float32, 1)
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    buffer = tlx.local_view(buffers, 0)
    tlx.local_store(buffer, tl.load(x_ptr + offsets, mask=mask, other=0.0))
    tl.store(y_ptr + offsets, tlx.local_load(buffer) * 2.0, mask=mask)
'''

CASE = '''"""What this kernel exercises, and what would go wrong if it broke."""

from harness.case import Expected, Input, Kernel, Launch, Output, Scalar, Spec


def launch(spec, problem):
    """The grid, and every argument that is not a constexpr."""
    n = problem["n"]
    return Launch(
        grid=(-(-n // spec.constexprs["BLOCK"]), 1, 1),
        arguments={{
            "x_ptr": Input((n,), "fp32"),
            "y_ptr": Output((n,), "fp32"),
            "n": Scalar(n),
        }},
    )


def reference(spec, problem, inputs):
    """y = 2 x. Doubling is exact in binary floating point: the bound is zero."""
    return {{"y_ptr": Expected(2.0 * inputs["x_ptr"], 0.0)}}


KERNEL = Kernel(
    function="{function}",
    targets=("cuda:90", "hip:gfx950"),
    specs=[
        Spec(
            name="fp32-256",
            signature={{"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}},
            constexprs={{"BLOCK": 256}},
            divisible_by_16=("x_ptr", "y_ptr"),
            options={{"num_warps": 4}},
            problem={{"n": 1000}},
        ),
    ],
    launch=launch,
    reference=reference,
)
'''

CHECK = """// The copy must go through shared memory on both sides.
CHECK: ttg.local_alloc
CHECK: ttg.local_store
CHECK: ttg.local_load
"""


def write_template(corpus: Path, name: str) -> Path:
    """Write the template as ``corpus/name``; returns the folder.

    Raises HarnessError if it exists already or cannot be written.
    """
    folder = corpus / name
    function = name.rpartition("/")[2].replace("-", "_")
    try:
        folder.mkdir(parents=True)
        (folder / "kernel.py").write_text(KERNEL.format(function=function))
        (folder / "case.py").write_text(CASE.format(function=function))
        (folder / "ttgir.check").write_text(CHECK)
    except FileExistsError as error:
        raise HarnessError(
            f"kernel folder {folder}", "exists already", "choose another name"
        ) from error
    except OSError as error:
        raise HarnessError(
            f"kernel folder {folder}",
            f"cannot be written: {error.strerror}",
            "give a writable folder with --corpus DIR",
        ) from error
    return folder
