"""Printing IR without verifying it: in each real toolchain, and where it cannot be had."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.toolchains import Toolchain
from harness.worker import printing
from harness.workers import ROOT

PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
from harness.worker import printing
from triton._C import libtriton
ir = libtriton.ir
context = ir.context()
ir.load_dialects(context)
builder = ir.builder(context)

def module(ended):
    made = builder.create_module()
    kind = builder.get_function_ty([], [])
    function = builder.get_or_insert_function(made, "kernel", kind, "public", False)
    builder.set_insertion_point_to_start(function.add_entry_block())
    if ended:
        builder.ret([])
    return made

modules = module(True), module(False)
found = printing.locate(libtriton)
before = [each.str_nodebug() for each in modules]
printing.assume_verified()
json.dump([found, before, [each.str_nodebug() for each in modules]], sys.stdout)
"""


@pytest.mark.parametrize("side", ["fork", "plugin"])
def test_a_valid_module_prints_alike_and_an_invalid_one_is_not_looked_at(side, request):
    toolchain: Toolchain = request.getfixturevalue(side)
    command = [toolchain.interpreter, "-s", "-c", PROGRAM, ROOT]
    done = subprocess.run(command, env=toolchain.env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found, before, after = json.loads(done.stdout)
    assert found
    assert before[0] == after[0]
    assert before[1].startswith('"builtin.module"()')
    assert after[1].startswith("module {")


def test_a_stripped_library_names_no_symbols(tmp_path: Path):
    if not (compiler := shutil.which("cc")):
        pytest.skip("no C compiler")
    source, library = tmp_path / "some.c", tmp_path / "some.so"
    source.write_text(
        "static int hidden(int x) { return x; } int shown(int x) { return hidden(x); }"
    )
    for strip, names in (((), {"hidden", "shown"}), (("-s",), set())):
        subprocess.run([compiler, "-O0", "-shared", "-o", library, source, *strip], check=True)
        found = printing.symbols(str(library), ("hidden", "shown", "absent"))
        assert found.keys() == names
    source.write_text("not an ELF file")
    assert printing.symbols(str(source), ("shown",)) == {}
