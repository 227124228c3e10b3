"""The reference of contexts cannot drift: docs/contexts.md has every field and key, and says what each may hold."""

import re
from pathlib import Path

import pytest

from contexthall.contexts.files import config
from contexthall.contexts.files.schema import FIELDS, JSON_SCHEMA

CONTEXTS = Path(__file__).parents[2] / "docs" / "contexts.md"


def rows(heading: str) -> dict[str, list[str]]:
    """Give the cells of the table below a heading, by the name in the first."""
    part = CONTEXTS.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("| `")
    ]
    return {row[0].strip("`"): row[1:] for row in cells}


def names_in(field: str) -> list[str]:
    """Give the names that an object in this field must and may have."""
    shape = FIELDS[field].get("items", FIELDS[field])
    return sorted(shape.get("properties", {}))


def test_every_field_has_its_row_in_the_order_of_the_schema() -> None:
    assert list(rows("The schema")) == list(FIELDS)


@pytest.mark.parametrize("field", FIELDS)
def test_a_row_says_whether_its_field_is_required_and_what_it_holds(field: str) -> None:
    required, holds, _ = rows("The schema")[field]
    root_only = JSON_SCHEMA["then"]["properties"]
    assert required == ("yes" if field in JSON_SCHEMA["required"] else "no, root only" if field in root_only else "no")
    assert sorted(re.findall(r"`(\w+)`", holds)) == names_in(field)


def test_every_key_of_the_configuration_has_its_row_with_its_default() -> None:
    table, defaults = rows("The configuration"), config.Config()
    assert list(table) == list(config.Config._fields)
    assert table["max_depth"][0] == str(defaults.max_depth)
    assert table["mode"][0] == f"`{defaults.mode}`"


def test_the_configuration_that_is_shown_is_one() -> None:
    shown = CONTEXTS.read_text().partition("\n## The configuration\n")[2].partition("```yaml\n")[2].partition("```")[0]
    assert config.read_config(shown.encode()) == config.Config(("fixtures", "*.generated"), 6, 0, "full")
