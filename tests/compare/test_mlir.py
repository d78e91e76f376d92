"""MLIR: insensitive to exactly what each rule names, and to nothing else."""

import random
import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import compare
from harness.model import Verdict

Pair = Callable[[str, str], tuple[bytes, bytes]]

SAMPLES = [
    ("ring_copy@cuda-90", "ttgir"),
    ("two_tasks@cuda-90", "ttgir"),
    ("row_sum@cuda-80", "ttgir"),
    ("noinline_call@cuda-90", "ttir"),
    ("ring_copy@hip-gfx950", "ttgir"),
]
VALUE = re.compile(r"%[\w$.-]+")
CONSTANT = re.compile(r"\s*%[\w$.-]+ = arith\.constant ")

samples = st.sampled_from(SAMPLES)
seeds = st.randoms(use_true_random=False)
few = settings(max_examples=40, deadline=None)


def verdict(stage: str, left: str, right: str) -> tuple[Verdict, set[str]]:
    result = compare.compare(stage, left.encode(), right.encode())
    assert (result.verdict is Verdict.DIFFERENT) == bool(result.hunks_total)
    return result.verdict, set(result.rules)


def equal(stage: str, left: str, right: str, *rules: str) -> None:
    """Equal with exactly these rules (a variant may happen to change nothing)."""
    if left != right:
        assert verdict(stage, left, right) == (Verdict.EQUIVALENT, set(rules))


def renamed(
    text: str, pattern: re.Pattern[str], fresh: Callable[[int], str], rng: random.Random
) -> str:
    names = sorted(set(pattern.findall(text)))
    numbers = list(range(len(names)))
    rng.shuffle(numbers)
    table = {name: fresh(number) for name, number in zip(names, numbers, strict=True)}
    return pattern.sub(lambda match: table[match[0]], text)


@few
@given(samples, seeds)
def test_value_names_do_not_matter(pair: Pair, sample: tuple[str, str], rng: random.Random) -> None:
    text = pair(*sample)[0].decode()
    other = renamed(text, VALUE, lambda k: f"%v{k}_x", rng)
    equal(sample[1], text, other, "mlir.ssa-names")
    assert compare.difference_size(sample[1], text.encode(), other.encode()) == 0


@few
@given(samples, seeds)
def test_the_order_of_neighbouring_constants_does_not_matter(
    pair: Pair, sample: tuple[str, str], rng: random.Random
) -> None:
    text = pair(*sample)[0].decode()
    lines = text.split("\n")
    start = next(i for i, line in enumerate(lines) if CONSTANT.match(line))
    end = next(i for i in range(start, len(lines)) if not CONSTANT.match(lines[i]))
    run = lines[start:end]
    rng.shuffle(run)
    shuffled = "\n".join([*lines[:start], *run, *lines[end:]])
    equal(sample[1], text, shuffled, "mlir.constant-order")
    both = renamed(shuffled, VALUE, lambda k: f"%{k}", rng)
    assert verdict(sample[1], text, both)[1] <= {"mlir.constant-order", "mlir.ssa-names"}
    assert verdict(sample[1], text, both)[0] is Verdict.EQUIVALENT


@few
@given(samples, seeds)
def test_alias_names_and_their_order_do_not_matter(
    pair: Pair, sample: tuple[str, str], rng: random.Random
) -> None:
    text = pair(*sample)[0].decode()
    aliases = re.compile(
        "|".join(
            sorted(
                {rf"{re.escape(a)}\b(?!\.)" for a in re.findall(r"(?m)^(#\w+) = ", text)},
                reverse=True,
            )
        )
        or r"(?!)"
    )
    other = renamed(text, aliases, lambda k: f"#name{k}", rng)
    heads = [line for line in other.split("\n") if line.startswith("#")]
    rest = [line for line in other.split("\n") if not line.startswith("#")]
    rng.shuffle(heads)
    equal(sample[1], text, "\n".join([*heads, *rest]), "mlir.alias-names")


def test_nested_aliases_are_named_after_their_contents() -> None:
    left = """\
#blocked = #ttg.blocked<{sizePerThread = [1]}>
#blocked1 = #ttg.blocked<{sizePerThread = [2]}>
#slice = #ttg.slice<{dim = 0, parent = #blocked}>
module {
  %0 = "a.b"() : () -> tensor<8xi32, #slice>
  %1 = "a.b"() : () -> tensor<8xi32, #blocked1>
}
"""
    swapped = """\
#a = #ttg.blocked<{sizePerThread = [2]}>
#b = #ttg.blocked<{sizePerThread = [1]}>
#c = #ttg.slice<{dim = 0, parent = #b}>
module {
  %0 = "a.b"() : () -> tensor<8xi32, #c>
  %1 = "a.b"() : () -> tensor<8xi32, #a>
}
"""
    equal("ttgir", left, swapped, "mlir.alias-names")
    other_parent = swapped.replace("parent = #b", "parent = #a")
    assert verdict("ttgir", left, other_parent)[0] is Verdict.DIFFERENT
    other_use = swapped.replace("tensor<8xi32, #a>", "tensor<8xi32, #b>")
    assert verdict("ttgir", left, other_use)[0] is Verdict.DIFFERENT


NEUTRAL = {
    "tlx.has_tlx_ops": "true",
    "tlx.has_explicit_local_mem_access": "true",
    "tlx.has_warp_spec_ops": "true",
    "ttg.min_reg_auto_ws": "24 : i32",
    "ttg.early_tma_store_lowering": "true",
    '"ttg.cluster-dim-x"': "1 : i32",
    '"ttg.cluster-dim-y"': "1 : i32",
    '"ttg.cluster-dim-z"': "1 : i32",
}
OTHER = {"true": "false", "24 : i32": "32 : i32", "1 : i32": "2 : i32"}


@pytest.mark.parametrize("name", NEUTRAL)
def test_a_fork_only_module_attribute_is_ignored_at_its_neutral_value_only(
    pair: Pair, name: str
) -> None:
    text = pair("ring_copy@cuda-90", "ttgir")[1].decode()
    assert name not in text
    value = NEUTRAL[name]
    marked = text.replace("module attributes {", f"module attributes {{{name} = {value}, ")
    rule = f"mlir.module-attr:{name}".replace('"', "")
    equal("ttgir", marked, text, rule)
    equal("ttgir", text, marked, rule)
    changed = marked.replace(f"{name} = {value}", f"{name} = {OTHER[value]}")
    for left, right in ((changed, text), (text, changed), (changed, marked), (marked, changed)):
        assert verdict("ttgir", left, right)[0] is Verdict.DIFFERENT


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"ttg.num-warps" = 4 : i32', '"ttg.num-warps" = 8 : i32'),
        ('"ttg.num-ctas" = 1 : i32, ', ""),
        ('ttg.target = "cuda:90"', 'ttg.target = "cuda:100"'),
        ('ttg.target = "cuda:90", ', ""),
        ("module attributes {", "module attributes {ttg.unknown, "),
    ],
)
def test_other_module_attributes_are_compared(pair: Pair, old: str, new: str) -> None:
    text = pair("ring_copy@cuda-90", "ttgir")[1].decode()
    assert old in text
    assert verdict("ttgir", text, text.replace(old, new))[0] is Verdict.DIFFERENT


def test_more_than_one_cta_is_a_difference_at_ttir_too(pair: Pair) -> None:
    fork, plugin = (side.decode() for side in pair("ring_copy@cuda-90", "ttir"))
    two = fork.replace('"ttg.num-ctas" = 1', '"ttg.num-ctas" = 2')
    assert two != fork
    assert verdict("ttir", two, plugin)[0] is Verdict.DIFFERENT


def test_only_an_unordered_reduction_is_like_one_without_an_order(pair: Pair) -> None:
    fork, plugin = (side.decode() for side in pair("row_sum@cuda-80", "ttgir"))
    ordered = fork.replace('reduction_ordering = "unordered"', 'reduction_ordering = "inner_tree"')
    assert ordered != fork
    for left, right in ((ordered, plugin), (ordered, fork)):
        assert verdict("ttgir", left, right)[0] is Verdict.DIFFERENT
    other_axis = fork.replace("axis = 0", "axis = 1")
    assert other_axis != fork
    assert verdict("ttgir", other_axis, plugin)[0] is Verdict.DIFFERENT


def test_private_symbols_follow_their_calls(pair: Pair) -> None:
    text = pair("noinline_call@cuda-90", "ttir")[1].decode()
    private = "@kernel.helper__fp32_c2.0_c1.5"
    assert text.count(private) == 2
    equal("ttir", text, text.replace(private, '@"other (name)"'), "mlir.private-symbols")
    assert verdict("ttir", text, text.replace(private, "@other", 1))[0] is Verdict.DIFFERENT
    public = text.replace("@red(", "@another_kernel(")
    assert verdict("ttir", text, public)[0] is Verdict.DIFFERENT


def test_descriptor_types_are_spelt_in_two_ways() -> None:
    text = """\
module {
  tt.func public @f(%arg0: !tt.tensordesc<tensor<64x64xf16, #ttg.nvmma_shared<{a = 1}>>>) {
    "use"(%arg0) : (!tt.tensordesc<tensor<64x64xf16>>, tensor<4x!tt.ptr<f32>>) -> tensor<4xf16>
    tt.return
  }
}
"""
    upstream = text.replace(
        "tensordesc<tensor<64x64xf16, #ttg.nvmma_shared<{a = 1}>>>",
        ("tensordesc<64x64xf16, #ttg.nvmma_shared<{a = 1}>>"),
    ).replace("tensordesc<tensor<64x64xf16>>", "tensordesc<64x64xf16>")
    equal("ttgir", text, upstream, "mlir.tensordesc-type")
    for old, new in (("64x64xf16,", "64x32xf16,"), ("a = 1", "a = 2"), ("xf16>, t", "xbf16>, t")):
        assert old in upstream
        assert verdict("ttgir", text, upstream.replace(old, new))[0] is Verdict.DIFFERENT


def test_locations_do_not_matter(pair: Pair) -> None:
    text = """\
#loc = loc("/a(b)/kernel.py":9:1)
#loc1 = loc("x_ptr"(#loc))
module {
  tt.func public @f(%x: i32 loc("x_ptr"(#loc)), %y: i32 loc(unknown)) {
    "note"() {text = "not a loc(#loc)"} : () -> () loc(callsite(#loc1 at "k (1)":3:4))
    tt.return loc(#loc1)
  } loc(#loc)
} loc(#loc)
"""
    bare = """\
module {
  tt.func public @f(%x: i32, %y: i32) {
    "note"() {text = "not a loc(#loc)"} : () -> ()
    tt.return
  }
}
"""
    equal("ttir", text, bare, "mlir.debug-locations")


# --- sensitivity --------------------------------------------------------------------------


def body(text: str) -> list[int]:
    return [i for i, line in enumerate(text.split("\n")) if line.startswith("    ")]


@settings(max_examples=150, deadline=None)
@given(samples, seeds)
def test_another_operand_is_a_difference(
    pair: Pair, sample: tuple[str, str], rng: random.Random
) -> None:
    """One use of a value replaced by another value that is in scope on that line."""
    text = pair(*sample)[0].decode()
    lines = text.split("\n")
    i = rng.choice(body(text))
    head, equals, tail = (
        lines[i].rpartition(" = ") if "arith.constant" in lines[i] else (lines[i].partition(" = "))
    )
    uses = list(VALUE.finditer(tail if equals else lines[i]))
    earlier = sorted({name for line in lines[:i] for name in VALUE.findall(line)})
    if not uses or not earlier or lines[i].rstrip().endswith("{") or "^bb" in lines[i]:
        return
    use = rng.choice(uses)
    new = rng.choice([name for name in earlier if name != use[0]])
    offset = len(head + equals) if equals else 0
    changed = lines[i][: offset + use.start()] + new + lines[i][offset + use.end() :]
    other = "\n".join([*lines[:i], changed, *lines[i + 1 :]])
    result = compare.compare(sample[1], text.encode(), other.encode())
    assert result.verdict is Verdict.DIFFERENT
    assert result.hunks_total >= 1


@settings(max_examples=150, deadline=None)
@given(samples, seeds)
def test_another_number_or_word_is_a_difference(
    pair: Pair, sample: tuple[str, str], rng: random.Random
) -> None:
    """One number or word of one operation changed, outside of the names of values."""
    text = pair(*sample)[0].decode()
    lines = text.split("\n")
    i = rng.choice(body(text))
    places = [
        match
        for match in re.finditer(r"[\w.]+", VALUE.sub(lambda m: "\0" * len(m[0]), lines[i]))
        if match[0] != "unordered" and "bb" not in match[0]
    ]
    if not places or "reduction_ordering" in lines[i]:
        return
    place = rng.choice(places)
    new = str(int(place[0]) + 1) if place[0].isdigit() else place[0] + "x"
    lines[i] = lines[i][: place.start()] + new + lines[i][place.end() :]
    assert verdict(sample[1], text, "\n".join(lines))[0] is Verdict.DIFFERENT


@few
@given(samples, seeds)
def test_a_missing_or_moved_operation_is_a_difference(
    pair: Pair, sample: tuple[str, str], rng: random.Random
) -> None:
    text = pair(*sample)[0].decode()
    lines = text.split("\n")
    plain = [i for i in body(text) if not lines[i].rstrip().endswith(("{", "}", ":"))]
    i = rng.choice(plain)
    assert verdict(sample[1], text, "\n".join(lines[:i] + lines[i + 1 :]))[0] is Verdict.DIFFERENT
    j = next((k for k in plain if k > i and not CONSTANT.match(lines[k])), None)
    if j is not None and j + 1 in plain and lines[j] != lines[j + 1]:
        lines[j], lines[j + 1] = lines[j + 1], lines[j]
        assert verdict(sample[1], text, "\n".join(lines))[0] is Verdict.DIFFERENT


def test_a_layout_of_another_content_is_a_difference(pair: Pair) -> None:
    text = pair("ring_copy@cuda-90", "ttgir")[0].decode()
    other = text.replace("sizePerThread = [1]", "sizePerThread = [2]")
    result = compare.compare("ttgir", text.encode(), other.encode())
    assert result.verdict is Verdict.DIFFERENT
    assert result.hunks[0].region == "module"


def test_constants_do_not_move_across_other_operations() -> None:
    left = (
        'module {\n  %0 = arith.constant 1 : i32\n  "a"() : () -> ()\n  "b"(%0) : (i32) -> ()\n}\n'
    )
    right = (
        'module {\n  "a"() : () -> ()\n  %0 = arith.constant 1 : i32\n  "b"(%0) : (i32) -> ()\n}\n'
    )
    assert verdict("ttgir", left, right)[0] is Verdict.DIFFERENT


def test_the_same_name_in_two_regions_is_two_values() -> None:
    """`%1` is used in the region on one side, and the outer `%0` on the other."""
    left = """\
module {
  %0 = "a"() : () -> i32
  scf.if %0 {
    %1 = "b"() : () -> i32
    "use"(%1) : (i32) -> ()
  } else {
    %1 = "c"() : () -> i32
    "use"(%1) : (i32) -> ()
  }
}
"""
    split = left.replace('%1 = "c"', '%x = "c"').replace(
        '"use"(%1) : (i32) -> ()\n  }\n}', ('"use"(%x) : (i32) -> ()\n  }\n}')
    )
    assert split.count("%x") == 2
    equal("ttgir", left, split, "mlir.ssa-names")
    outer = split.replace('"use"(%x)', '"use"(%0)')
    assert verdict("ttgir", left, outer)[0] is Verdict.DIFFERENT


def test_a_region_argument_may_shadow_an_outer_name() -> None:
    left = """\
module {
  %0 = "a"() : () -> i32
  %1 = "b"() : () -> i32
  "w"() ({
  ^bb0(%2: i32):
    "use"(%2) : (i32) -> ()
  }) : () -> ()
  "use"(%0, %1) : (i32, i32) -> ()
}
"""
    shadow = left.replace("%2", "%0")
    equal("ttgir", left, shadow, "mlir.ssa-names")
    shadow_other = left.replace("%2", "%1")
    equal("ttgir", shadow, shadow_other, "mlir.ssa-names")


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda text: text[: len(text) // 2], "mlir.ssa-names"),
        (lambda text: text.replace("module attributes", "nodule attributes"), "no module"),
        (lambda text: text.replace("%c0_i32 = ", "%c1_i32 = "), "defined twice"),
        (lambda text: text.replace("\n    %c0_i32 =", "\n    %other ="), "%c0_i32 is used"),
        (lambda text: text + "}\n", "a } without its {"),
    ],
)
def test_what_cannot_be_parsed_is_not_equal(
    pair: Pair, damage: Callable[[str], str], why: str
) -> None:
    text = pair("ring_copy@cuda-90", "ttgir")[0].decode()
    broken = damage(text)
    assert broken != text
    for sides, side in (((text, broken), "candidate"), ((broken, text), "reference")):
        result = compare.compare("ttgir", *(each.encode() for each in sides))
        assert result.verdict is Verdict.DIFFERENT
        assert why in result.note
        assert side in result.note
        assert len(result.fingerprint) == 16
    both = compare.compare("ttgir", broken.encode(), (broken + "\n").encode())
    assert both.verdict is Verdict.DIFFERENT


def test_a_warp_specialised_partition_is_named(pair: Pair) -> None:
    text = pair("two_tasks@cuda-90", "ttgir")[0].decode()
    start = text.index("partition0(")
    place = text.index("arith.", start)
    other = text[:place] + "arith.x" + text[place + len("arith.") :]
    result = compare.compare("ttgir", text.encode(), other.encode())
    assert [hunk.region for hunk in result.hunks] == ["@two_tasks / partition0"]


def test_a_comment_on_predecessors_may_name_the_unlabelled_entry_block():
    """After convert-scf-to-cf the entry block is a predecessor that is nowhere defined, while
    the body of a reduction defines a ^bb0 of its own."""
    text = """module {
  tt.func public @f(%arg0: i32, %arg1: tensor<8xf32>) {
    cf.br ^bb1(%arg0 : i32)
  ^bb1(%0: i32):  // 2 preds: ^bb0, ^bb1
    %1 = "tt.reduce"(%arg1) <{axis = 0 : i32}> ({
    ^bb0(%arg2: f32, %arg3: f32):
      %2 = arith.addf %arg2, %arg3 : f32
      tt.reduce.return %2 : f32
    }) : (tensor<8xf32>) -> f32
    cf.br ^bb1(%0 : i32)
  }
}
"""
    renumbered = text.replace("^bb1", "^bb7").replace("%2", "%9")
    assert compare.compare("ttgir", text.encode(), renumbered.encode()).rules == ("mlir.ssa-names",)
    other = renumbered.replace("^bb7(%0 : i32)", "^bb7(%arg0 : i32)")
    assert compare.compare("ttgir", text.encode(), other.encode()).verdict is Verdict.DIFFERENT


SCRATCH = (
    "ttg.global_scratch_memory_alignment = 1 : i32, ttg.global_scratch_memory_size = {} : i32, "
    "ttg.profile_scratch_memory_alignment = 1 : i32, ttg.profile_scratch_memory_size = 0 : i32"
)


@pytest.mark.parametrize(("size", "equal"), [(0, True), (128, False)])
def test_only_the_absence_of_scratch_memory_is_ignored(size: int, equal: bool):
    text = """module attributes {{{0}"ttg.num-warps" = 4 : i32}} {{
  tt.func public @f() attributes {{noinline = false{1}}} {{
    tt.return
  }}
}}
"""
    scratch = SCRATCH.format(size)
    left = text.format(scratch + ", ", ", " + scratch).encode()
    right = text.format("", "").encode()
    found = compare.compare("ttgir", left, right)
    assert (found.rules == ("mlir.no-scratch-memory",)) == equal
    assert (found.verdict is Verdict.DIFFERENT) != equal


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"ttg.num-warps" = 4', '"ttg.num-warps" = 8'),
        ('"ttg.threads-per-warp" = 32', '"ttg.threads-per-warp" = 64'),
        ('"cuda:90"', '"cuda:80"'),
    ],
)
def test_what_both_sides_have_recorded_early_is_compared(pair: Pair, old: str, new: str) -> None:
    text = pair("ring_copy@cuda-90", "ttir")[0].decode()
    assert old in text
    result = compare.compare("ttir", text.encode(), text.replace(old, new).encode())
    assert result.verdict is Verdict.DIFFERENT
    (hunk,) = result.hunks
    assert (old in hunk.left[0], new in hunk.right[0]) == (True, True)
    without = re.sub(rf"(?:, )?(?:ttg\.target = )?{re.escape(old)}(?: : i32)?", "", text)
    assert compare.compare("ttir", text.encode(), without.encode()).verdict is Verdict.EQUIVALENT
