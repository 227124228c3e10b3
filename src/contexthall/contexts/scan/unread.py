"""Source files in languages that drafts do not read. Pure.

`init` and `status` report them: a directory of such files gets no draft for that reason.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from contexthall.contexts.scan.directories import ScannedDirectory

UNREAD: Mapping[str, str] = {
    extension: title
    for title, extensions in {
        "Astro": "astro",
        "Clojure": "clj cljs",
        "CUDA": "cu",
        "Dart": "dart",
        "Elixir": "ex exs",
        "Elm": "elm",
        "Erlang": "erl",
        "F#": "fs",
        "Groovy": "groovy",
        "Haskell": "hs",
        "Julia": "jl",
        "Lua": "lua",
        "Nim": "nim",
        "Objective-C": "m mm",
        "OCaml": "ml mli",
        "Perl": "pl pm",
        "PowerShell": "ps1",
        "R": "r",
        "Solidity": "sol",
        "Svelte": "svelte",
        "Visual Basic": "vb",
        "Vue": "vue",
        "Zig": "zig",
    }.items()
    for extension in extensions.split()
}
"""Extension → language."""


def unread_files(directories: Iterable[ScannedDirectory]) -> dict[str, int]:
    """Return how many files there are of each language that is not read, the most first."""
    names = (file.name for directory in directories for file in directory.files)
    found = Counter(UNREAD[end] for name in names if (end := name.rpartition(".")[2].lower()) in UNREAD)
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))
