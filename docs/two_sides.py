# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # One TLX kernel through both sides
#
# TLX is in Meta's fork of Triton (PyPI `fbtriton`), and it is a plugin for unmodified upstream
# Triton (PyPI `triton` and `triton-utlx`). This page installs both, compiles one kernel through
# each with plain `triton.compile`, shows that the plugin is a library that upstream loads at run
# time, and compares what comes out. No GPU is needed, and nothing of this project.
#
# The script `two_sides.py` and the notebook `two-sides.ipynb` are the same cells. Linux x86-64,
# Python 3.11 to 3.14, and `pip install uv`.

# %% [markdown]
# ## Install both sides
#
# Each gets an environment of its own, in the user's cache folder. `TWO_SIDES_FORK` and
# `TWO_SIDES_PLUGIN` may name environments that exist already.

# %%
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PINS = {
    "fork": ["fbtriton==3.7.4"],
    "plugin": ["triton==3.8.0", "triton-utlx==3.8.0.post16"],
}
cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "two-sides"


def uv(*arguments):
    """Run uv, which makes environments in seconds."""
    subprocess.run([sys.executable, "-m", "uv", "--quiet", *map(str, arguments)], check=True)


def install(side):
    """The interpreter of a side's environment, made on first use (up to 1 GB)."""
    given = os.environ.get(f"TWO_SIDES_{side.upper()}")
    folder = Path(given) if given else cache / "-".join(PINS[side])
    python = folder / "bin" / "python"
    if not python.exists():
        uv("venv", "--python", sys.executable, folder)
        uv("pip", "install", "--python", python, "--no-deps", *PINS[side])
    return python


interpreters = {side: install(side) for side in PINS}
for side, pins in PINS.items():
    print(f"{side}: {', '.join(pins)}")

# %% [markdown]
# ## A kernel
#
# Two groups of warps work at the same time, each with its own code: warp specialisation, which
# only TLX lets a kernel ask for. One adds the inputs, the other subtracts them.

# %%
KERNEL = """
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def sum_and_difference(x_ptr, y_ptr, sum_ptr, difference_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    with tlx.async_tasks():
        with tlx.async_task("default"):
            here = first + tl.arange(0, BLOCK)
            x = tl.load(x_ptr + here, mask=here < n)
            y = tl.load(y_ptr + here, mask=here < n)
            tl.store(sum_ptr + here, x + y, mask=here < n)
        with tlx.async_task(num_warps=4):
            here = first + tl.arange(0, BLOCK)
            x = tl.load(x_ptr + here, mask=here < n)
            y = tl.load(y_ptr + here, mask=here < n)
            tl.store(difference_ptr + here, x - y, mask=here < n)
"""

# %% [markdown]
# ## Compile it, and look at what is mapped
#
# The same script runs on each side, in an empty environment. It looks into `/proc/self/maps`
# before and after it imports Triton, compiles for `sm_90`, and keeps every stage. `ttgir-plain`
# is the IR at the end of the TTGIR pipeline as MLIR prints it without locations: the raw `ttgir`
# names each SSA value after the source, and each side words its locations in its own way. Both get
# the same file, unchanged in between: line information holds its path and its time.

# %%
COMPILE = '''
import importlib.util, json, os, sys
from pathlib import Path

def mapped():
    """The shared libraries of installed packages in this process."""
    paths = [line.split()[-1] for line in open("/proc/self/maps")]
    return sorted({Path(path).name for path in paths if "site-packages" in path})

seen = {"before": mapped()}
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile
seen["after"] = mapped()

plain = {}

class Watched(ir.pass_manager):
    def run(self, module, *name):
        super().run(module, *name)
        if name == ("make_ttgir",):
            plain["ttgir-plain"] = module.str_nodebug().encode()

ir.pass_manager = Watched
spec = importlib.util.spec_from_file_location("kernel", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
kernel = module.sum_and_difference
pointers = {name: "*fp32" for name in ("x_ptr", "y_ptr", "sum_ptr", "difference_ptr")}
compiled = compile(
    ASTSource(
        kernel,
        {**pointers, "n": "i32", "BLOCK": "constexpr"},
        {"BLOCK": 512},
        {(i,): [["tt.divisibility", 16]] for i in range(4)},
    ),
    target=GPUTarget("cuda", 90, 32),
    options={"sanitize_overflow": False},  # upstream's default is True
)
out = Path(sys.argv[2])
for stage in ("ttir", "ttgir", "llir", "ptx", "cubin"):
    data = compiled.asm[stage]
    (out / stage).write_bytes(data if isinstance(data, bytes) else data.encode())
(out / "ttgir-plain").write_bytes(plain["ttgir-plain"])
seen["version"] = compiled.metadata.triton_version
print(json.dumps(seen))
'''


temporary = tempfile.TemporaryDirectory(prefix="two-sides-")  # removed at the end
work = Path(temporary.name)
(work / "kernel.py").write_text(KERNEL)
(work / "compile.py").write_text(COMPILE)


def compile_on(side):
    """Compile on one side; returns what the script saw there, and the folder of the stages."""
    out = Path(tempfile.mkdtemp(prefix=side, dir=work))
    done = subprocess.run(
        [interpreters[side], work / "compile.py", work / "kernel.py", out],
        env={"PATH": os.environ["PATH"], "HOME": str(out), "TRITON_CACHE_DIR": str(out / "cache")},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{side} does not compile it:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1]), out


seen, folders = {}, {}
for side in PINS:
    seen[side], folders[side] = compile_on(side)
    print(f"{side}: triton {seen[side]['version']}")
    print(f"    mapped before import triton: {', '.join(seen[side]['before']) or 'nothing'}")
    print(f"    mapped after import triton:  {', '.join(seen[side]['after'])}")

# %% [markdown]
# The fork has TLX compiled in. Upstream has no word of it until it loads `libutlx.so`.
#
# ## Equal?


# %%
for stage in ("ttir", "ttgir", "ttgir-plain", "llir", "ptx", "cubin"):
    left, right = ((folders[side] / stage).read_bytes() for side in PINS)
    print(f"{stage:12} {'identical' if left == right else 'differs'}")

# %% [markdown]
# The binary is the same, byte for byte, and so are the PTX and the LLVM IR. The MLIR is not. Why?

# %%
attributes = []
for side in PINS:
    first, module, *rest = (folders[side] / "ttgir-plain").read_text().splitlines()
    inside = re.search(r"attributes \{(.*)\} \{$", module)[1]
    attributes.append(sorted(re.split(r", (?=[a-z\"])", inside)))
    print(f"{side}: {len(rest)} lines of operations, {len(attributes[-1])} module attributes")
for line in list(difflib.unified_diff(*attributes, *PINS, n=0, lineterm=""))[2:]:
    if not line.startswith("@@"):
        print(line)

# %% [markdown]
# The raw files differ in how each side words source locations and names SSA values. Without
# those, one line is left: the attributes of the module. The fork notes there what its own passes
# want to know (that warps are specialised, that a cluster is of one block); no operation differs.
#
# That is this kernel. `tlx-equiv run` asks the same of every kernel of a corpus, says which
# differences are of this harmless kind, and finds the pass and the side that the others come from.
