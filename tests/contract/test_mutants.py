"""The mutants of `make mutants` can still be planted, and those who should notice them are there."""

import ast
from pathlib import Path

import pytest
from benchmarks.mutant_table import CHOSEN, MUTANTS, Mutant

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.module}: {mutant.breaks}")
def test_a_mutant_has_one_place_and_is_python(mutant: Mutant) -> None:
    text = (ROOT / mutant.path).read_text()
    assert text.count(mutant.old) == 1
    assert ast.dump(ast.parse(mutant.planted(text))) != ast.dump(ast.parse(text))


@pytest.mark.parametrize("test", sorted({test for mutant in MUTANTS for test in mutant.tests}))
def test_who_should_notice_is_there(test: str) -> None:
    file, _, name = test.partition("::")
    assert (ROOT / file).exists()
    assert not name or f"def {name}(" in (ROOT / file).read_text()


def test_no_mistake_is_planted_twice_and_forty_were_chosen() -> None:
    assert len({(mutant.module, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS)
    assert len({mutant.breaks for mutant in MUTANTS}) == len(MUTANTS)
    assert len(CHOSEN) >= 40


def test_what_occurs_twice_or_never_is_not_planted() -> None:
    mutant = Mutant(module="x.py", old="a", new="b", breaks="nothing", tests=())
    assert mutant.planted("a c") == "b c"
    for text in ("a a", "c"):
        with pytest.raises(ValueError, match="occurs"):
            mutant.planted(text)
