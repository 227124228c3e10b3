"""What the hall answers is written down to the letter; whoever changes it sees the difference."""

import json

from tests.protocol.write_vectors import VECTORS, rendered


def test_the_answers_are_those_of_the_vectors() -> None:
    assert json.loads(rendered()) == json.loads(VECTORS.read_text()), "python -m tests.protocol.write_vectors"
