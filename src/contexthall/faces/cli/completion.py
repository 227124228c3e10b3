"""`context completion`: scripts that teach a shell to complete, and the candidates that they ask for.

A script hands the line up to the cursor back to this command, and gets on the first line whether the shell shall add
`dirs` or `files` of its own, then a candidate a line.

click finds the candidates. Its own scripts were tried: none of the three completes `--option=VALUE`, bash's inserts
names unquoted, so that a cache called `$(reboot)` would run, and fish's cuts a name at its first comma.

Nothing is started, nothing is written. Candidates may be names that others chose. One that a terminal would not show is
left out, so a line is a candidate; zsh and fish quote what they insert, and for bash it is done here.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import click
from click.shell_completion import CompletionItem, ShellComplete

from contexthall.core.text import is_printable
from contexthall.faces.cli.output import print_data
from contexthall.faces.cli.table import context
from contexthall.hall import GuildChoice, open_hall

Candidates = list[CompletionItem[str]]

BASH = r"""
_context_completion() {
    local answer
    mapfile -t answer < <(
        command context completion bash -- "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null
    )
    COMPREPLY=("${answer[@]:1}")
    case ${answer[0]-} in
        dirs) compopt -o dirnames ;;
        files) compopt -o default ;;
    esac
}
complete -o nosort -F _context_completion context
"""

ZSH = r"""
#compdef context
_context() {
    local -a answer found shown
    local line="${(j: :)words[1,CURRENT-1]} $QIPREFIX$PREFIX" candidate
    answer=("${(@f)$(command context completion zsh -- "$line" 2>/dev/null)}")
    for candidate in "${(@)answer[2,-1]}"; do
        found+=("${candidate%%$'\t'*}")
        shown+=("${candidate#*$'\t'}")
    done
    compadd -V context -l -d shown -a found
    [[ $PREFIX == -*=* ]] && compset -P '*='
    case $answer[1] in
        dirs) _files -/ ;;
        files) _files ;;
    esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _context "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
    compdef _context context
fi
"""

FISH = r"""
function __context_completion
    set -l line (commandline -cp)
    set -l answer (command context completion fish -- "$line" 2>/dev/null)
    set -l option (string match -r '^-[^=]*=' -- (commandline -ct))
    set -l value (string replace -r '^-[^=]*=' '' -- (commandline -ct))
    switch "$answer[1]"
        case dirs
            string join \n -- "$option"(__fish_complete_directories "$value" '')
        case files
            string join \n -- "$option"(__fish_complete_path "$value" '')
    end
    set -e answer[1]
    string join \n -- $answer
end
complete -c context -f -k -a '(__context_completion)'
"""

LINES = """\b
Put one line where your shell finds it at its start:
  bash  source <(context completion bash)     in ~/.bashrc
  zsh   source <(context completion zsh)      in ~/.zshrc
  fish  context completion fish | source      in ~/.config/fish/config.fish
"""

_PATHS = {"directories": CompletionItem("", type="dir"), "files": CompletionItem("", type="file")}
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
_OPEN_TO = {"'": "'", '"': '"$`\\!'}
"""What has a meaning to bash within quotes."""
_PLAIN = "_-./,@%+"
"""What has none outside of them, beside letters and digits."""
_NOT_ITSELF = {"": "\\'\" \t\n", "'": "'", '"': '\\"'}
"""What a shell does not read as itself, outside of quotes and within."""


@click.command(epilog=LINES)
@click.argument("shell", type=click.Choice([*SCRIPTS]), metavar="SHELL")
@click.argument("line", required=False)
@click.argument("breaks", required=False, default="")
def completion(shell: str, line: str | None, breaks: str) -> None:
    """Print what teaches your shell to complete commands.

    SHELL is bash, zsh or fish. What it prints calls this command again, with the LINE that is to be completed and, from
    bash, the characters at which a word BREAKS.
    """
    print_data(SCRIPTS[shell].lstrip("\n") if line is None else answer(shell, CommandLine.read(line, breaks)))


class CommandLine(NamedTuple):
    """A line up to the cursor, as a shell reads it, and how far it got with the last word."""

    words: tuple[str, ...]
    """The last one is incomplete, and empty if nothing of it has been typed."""
    kept: int = 0
    """How much of the last word stands before what bash would replace."""
    quote: str = ""
    """The quote that is still open."""

    @classmethod
    def read(cls, line: str, breaks: str = "") -> Self:
        """Parse a line whose quotes may be open. At `breaks` a word goes on, but bash replaces only what follows."""
        words, kept, quote, outside, is_escaped = [""], 0, "", 0, False
        for each in line:
            if is_escaped or each not in _NOT_ITSELF[quote]:
                words[-1] += each
                kept = len(words[-1]) if each in breaks and not (quote or is_escaped) else kept
                is_escaped = False
            elif each == "\\":
                is_escaped = True
            elif quote:
                quote, kept = "", outside
            elif each in _OPEN_TO:
                quote, outside, kept = each, kept, len(words[-1])
            else:
                words, kept = [*words, ""], 0
        return cls((*filter(None, words[:-1]), words[-1]), kept, quote)


def answer(shell: str, line: CommandLine) -> str:
    """Return the answer to a shell's script; empty if anything is wrong, for nobody asked for a message."""
    try:
        items = candidates(line.words)
    except Exception:  # noqa: BLE001 - whatever it is, the person is in the middle of a word
        return ""
    kind = next((f"{item.type}s" for item in items if item.type != "plain"), "words")
    plain = [item for item in items if item.type == "plain" and is_printable(item.value)]
    meanings = {item.value: " ".join((item.help or "").split()) for item in plain}
    return "\n".join([kind, *_formatted(shell, meanings, line)])


def candidates(words: Sequence[str]) -> Candidates:
    """Return the completions of the last word."""
    before, incomplete = [*words[1:-1]], words[-1]
    option = incomplete[: incomplete.find("=") + 1] if incomplete.startswith("-") else ""
    found = ShellComplete(context, {}, "context", "").get_completions(before, incomplete)
    items = [CompletionItem(option + item.value, type=item.type, help=item.help) for item in found]
    return [item for item in items if item.type != "plain" or item.value.startswith(incomplete)]


def _formatted(shell: str, meanings: Mapping[str, str], line: CommandLine) -> list[str]:
    """Return each value and what it means, for zsh as it is listed; for bash, which inserts it as it is, quoted."""
    if shell == "fish":
        return [f"{value}\t{meaning}" for value, meaning in meanings.items()]
    if shell == "zsh":
        width = max(map(len, meanings), default=0)
        return [f"{value}\t{value:<{width}}  {meaning}" for value, meaning in meanings.items()]
    ends = [value[line.kept :] for value in meanings]
    if line.quote:
        return [end for end in ends if not set(end) & set(_OPEN_TO[line.quote])]
    return ["".join(each if each.isalnum() or each in _PLAIN else f"\\{each}" for each in end) for end in ends]


def names_on_disk(kind: str, given: click.Context) -> Candidates:
    """Return what there is of a kind, in the hall that the options before it name; paths the shell finds itself."""
    if kind in _PATHS:
        return [_PATHS[kind]]
    guild = GuildChoice(given.params.get("guild"))
    hall = open_hall(given.params.get("path"), cache_root=given.params.get("cache_root"), guild=guild)
    if kind == "caches":
        names = [cache.path for cache in hall.caches.list_caches() if cache.has_manifest]
        return [*map(CompletionItem, names), _PATHS["directories"]]
    return [*map(CompletionItem, hall.guild.roster if kind == "members" else hall.project.places())]
