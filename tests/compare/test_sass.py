"""SASS: instructions and their encodings are compared, positions and line information are not."""

import random
import re
from collections.abc import Callable

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from harness import compare
from harness.model import Verdict

Pair = Callable[[str, str], tuple[bytes, bytes]]

SAMPLE = ("ring_copy@cuda-90", "sass")
seeds = st.randoms(use_true_random=False)


def verdict(left: str, right: str) -> tuple[Verdict, set[str]]:
    result = compare.compare("sass", left.encode(), right.encode())
    return result.verdict, set(result.rules)


@settings(max_examples=100, deadline=None)
@given(seeds)
def test_one_digit_of_an_encoding_or_an_operand_is_a_difference(
    pair: Pair, rng: random.Random
) -> None:
    text = pair(*SAMPLE)[0].decode()
    code = text.index(".text.ring_copy:")
    places = [
        match
        for match in re.finditer(r"(?<=[\w.])[0-9a-f](?=[\w]* )", text)
        if match.start() > code
        and text.rfind("\n", 0, match.start()) < text.rfind("*/  ", 0, match.start())
    ]
    place = rng.choice(places)
    assume(".L_x_" not in text[place.start() - 6 : place.start()])
    other = text[: place.start()] + ("0" if place[0] != "0" else "1") + text[place.end() :]
    assert verdict(text, other)[0] is Verdict.DIFFERENT


def test_a_stall_count_is_compared(pair: Pair) -> None:
    """The two texts differ in the control bits of one encoding only."""
    text = pair(*SAMPLE)[0].decode()
    assert "/* 0x000fc80000000000 */" in text
    other = text.replace("/* 0x000fc80000000000 */", "/* 0x000fc40000000000 */", 1)
    result = compare.compare("sass", text.encode(), other.encode())
    assert (result.verdict, result.hunks_total) == (Verdict.DIFFERENT, 1)
    assert result.hunks[0].region == "ring_copy"


def test_addresses_do_not_matter(pair: Pair) -> None:
    text = pair(*SAMPLE)[0].decode()
    other = re.sub(r"/\*([0-9a-f]{4})\*/", lambda m: f"/*{int(m[1], 16) + 0x1000:04x}*/", text)
    assert verdict(text, other) == (Verdict.EQUIVALENT, {"sass.addresses"})


def test_label_numbers_do_not_matter_but_targets_do(pair: Pair) -> None:
    text = pair(*SAMPLE)[0].decode()
    other = text.replace(".L_x_", ".L_x_10")
    assert other != text
    assert verdict(text, other) == (Verdict.EQUIVALENT, {"sass.labels"})
    branch = re.search(r"BRA (?:\w+, )?`\(\.L_x_(\d)\)", text)
    assert branch
    target = branch[0].replace(f"x_{branch[1]}", f"x_{(int(branch[1]) + 1) % 3}")
    assert verdict(text, text.replace(branch[0], target, 1))[0] is Verdict.DIFFERENT


def test_line_information_does_not_matter(pair: Pair) -> None:
    text = pair(*SAMPLE)[0].decode()
    line = '\t//## File "/home/user/kernel.py", line 9\n'
    start = text.index("        /*0010*/")
    assert verdict(text, text[:start] + line + text[start:]) == (
        Verdict.EQUIVALENT,
        {"sass.debug-info"},
    )
    section = '//--------------------- .debug_line  ---\n\t.section\t.debug_line,"",@progbits\n x\n'
    ruler = text.index("//-----")
    assert verdict(text, text[:ruler] + section + text[ruler:]) == (
        Verdict.EQUIVALENT,
        {"sass.debug-info"},
    )


def test_text_without_encodings_is_equal_to_nothing(pair: Pair) -> None:
    text = re.sub(r" +/\* 0x[0-9a-f]{16} \*/\n?", "\n", pair(*SAMPLE)[0].decode())
    result = compare.compare("sass", text.encode(), text.encode())
    assert result.verdict is Verdict.DIFFERENT
    assert "-hex" in result.note
