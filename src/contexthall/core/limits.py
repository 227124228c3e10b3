"""Every limit of the hall: how much, how many, how deep, how long. `docs/security.md` prints this table."""

from typing import Final

# Data that is read (`core/`)
CLIENT_MESSAGE_BYTES: Final = 16 << 20
"""A line over stdio, or a body at `/mcp`. No call needs more; a longer one is refused."""
JSON_VALUES: Final = 100_000
"""Of a message or a client's file: a value may cost twenty times the bytes that spell it."""
NESTED_LEVELS: Final = 128
"""Of JSON, and of TOML in a client's file: how deep a parser goes differs between Pythons."""
INTEGER_DIGITS: Final = 100
"""A longer integer is out of every range, so its exact value cannot matter; it is read as infinity."""
PASSED_ON_INTEGER_DIGITS: Final = 4300
"""An integer that is passed on may be as long as Python reads, unless it was told otherwise."""
TOML_KEY_PARTS: Final = 32
"""The time that tomllib takes grows with the square of the parts of a key."""
TOML_WORD_CHARACTERS: Final = 4000
"""Python reads no longer number, and TOML has none."""

# Arguments of the native tools (`core/`)
NATIVE_TOOL_SECONDS: Final = 30.0
"""Unless `tool_timeout_secs` says otherwise; the caller gets an error, and the thread keeps its place until it ends."""
QUERY_CHARACTERS: Final = 1 << 20
"""Of an argument with an error of its own, such as the query: a longer text means nothing, and takes for ever."""
PATH_CHARACTERS: Final = 4 << 20
"""Of a scope or a path that a native tool is given. No path is longer; to work on one takes for ever."""
ARGUMENT_FAULTS: Final = 1000
"""One fault is reported, the best of so many."""
UNKNOWN_ARGUMENTS: Final = 100
"""The first few that no schema knows are enough for a complaint."""
COMPLAINT_CHARACTERS: Final = 200
"""An error about arguments is one readable sentence; a longer one is cut."""
COMPLAINT_REASON_CHARACTERS: Final = 120
"""A longer reason quotes the value, which the caller knows; the rule that it breaks is named instead."""

# Files (`system/`, `config/`, `clients/`)
FILE_BYTES: Final = 1 << 30
"""Of a document, an index, any file that is read whole; what is larger is not read into memory."""
FOLLOWED_SYMLINKS: Final = 40
"""As many as Linux follows: a loop of symlinks has no end."""
LOCK_TRIES: Final = 20
"""Who tidies up holds the lock for moments, others for their own reasons; then writing goes on without it."""
LOCK_PAUSE_SECONDS: Final = 0.005
"""Between two tries."""
SETTINGS_BYTES: Final = 1 << 16
"""Of a `contexthall.toml`; nobody has so many settings."""
SETTINGS_DOTS: Final = 1000
"""In a line: tomllib's time grows with the square of the parts of a key, and no setting has any."""
CLIENT_FILE_BYTES: Final = 8 << 20
"""Of a file that `connect`, `guild import` or `doctor` reads."""
CLIENT_FILE_LINES: Final = 20_000
"""Of a TOML file; JSON is bounded by its values."""

# Caches
ANSWER_CONTENT_BYTES: Final = 256 << 20
"""Of the documents in an answer (`invalid_budget`): no agent could read it, and several copies of it are made."""
ANSWER_REPEATED_BYTES: Final = 64 << 20
"""Of the query in an answer (`invalid_query`): every document comes with all terms."""
CACHES_NAMED: Final = 50
"""Where an agent asks one that is not there: it needs a name, and not a list of thousands."""
OPEN_CACHES: Final = 4
"""Each that stays open keeps descriptors and memory; the oldest is closed."""
CACHE_SWAPS: Final = 10
"""An answer starts over when its cache is replaced, but not for ever."""
KEPT_TERMS_BYTES: Final = 24 << 20
"""Of an index, for the next query; words that are nowhere found count as well."""
KEPT_VALUES_BYTES: Final = 64 << 20
"""What terms add to the sections of a cache of format 2, for the next query."""
KEPT_ORDERS_BYTES: Final = 16 << 20
"""The order of terms on pages of such a cache, for the next query."""
KEPT_RECORDS_BYTES: Final = 32 << 20
"""Titles, headings and places of sections of such a cache, for the next query."""
KEPT_ITEMS_BYTES: Final = 4 << 20
"""Sections of such a cache that were served, as JSON, for the next query."""
KNOWN_WORDS: Final = 500_000
"""Whose terms are kept, because most words are met again; then all are let go."""
FRONT_MATTER_LEVELS: Final = 100
"""Of YAML above a page: libyaml's composer recurses, and no title lies deeper."""
KNOWN_WORD_CHARACTERS: Final = 64
"""A longer word is rarely met again, and is not kept."""
PAGE_TITLES: Final = 16_000_000
"""Characters of all sections' titles together: every part of a long section repeats its heading, of any length."""
JUDGING_PAUSE_SECONDS: Final = 1.0
"""Between two looks at the sources of a cache that is asked often."""
JUDGING_SHARE: Final = 10
"""Times what a look took, before the next: it shall not be what a hall does most."""
JUDGED_AT_ONCE_BYTES: Final = 256 << 10
"""Of what a cache records of its sources: of more, the first answer of a process does not wait to hear."""
JUDGING_SECONDS: Final = 0.05
"""That an answer waits for such a look; then the last verdict is told."""
FIRST_LOOK_SECONDS: Final = 1.0
"""After the start of a hall, before it looks at the sources of its caches: the agent comes first."""
CACHE_ROOT_SECONDS: Final = 1.0
"""Between two looks at the cache root of whoever watches: caches come, go and are replaced."""
LISTING_SHARE: Final = 100
"""Times what that look took, before the next."""
GONE_FOLDER_SECONDS: Final = 0.1
"""Before folders are watched again of which one was gone."""
BURST_CHANGES: Final = 10
"""Of files that change at once; more are a burst, such as a switch of branches."""
BURST_QUIET_SECONDS: Final = 1.0
"""Without a further change, before a burst counts as over, and the sources are looked at."""
INSTALLATION_QUIET_SECONDS: Final = 5.0
"""The same where packages are installed: until an installer is done, some of them are missing."""
BURST_SECONDS: Final = 15.0
"""Then sources are looked at although they still change: some always do."""
SOURCES_POLL_SECONDS: Final = 5.0
"""Between two looks at sources that the operating system cannot watch, or has no more watches for."""
REFRESH_BACK_OFF_SECONDS: Final = 2.0
"""After a refresh that failed, before the next; it doubles with each."""
LAST_REFRESH_BACK_OFF_SECONDS: Final = 60.0
"""What is mended, such as a full disk, should not be waited for long."""
REFRESH_PAUSE_SECONDS: Final = 2.0
"""After a refresh that went well, at most: a save shall not wait for as long as the burst before it took."""
REFRESH_SECONDS: Final = 3600.0
"""Of a refresh by a hall; then it is ended. One with an embedder may take long, and none may hold up all others."""
WORKER_LOG_LINES: Final = 100
"""Of what a refresh says on its standard error; a trace has fewer, and an embedder may print for ever."""
SMALL_SEGMENTS: Final = 8
"""Refreshes add segments, and every question looks into each; when small ones are more, they become one."""
SEGMENT_PAGES: Final = 6144
"""A segment of a cache of format 2 fits into memory while it is counted."""
SEGMENT_TEXT_BYTES: Final = 64 << 20
"""As above, but for the last page of a segment."""
SEGMENT_WORDS: Final = 500_000
"""Different ones, but for those of the last page: each is kept while a segment is counted."""
SHARDS: Final = 64
"""Of a cache: each that is asked keeps at least one file open, and is looked into for every word."""
BUILD_PROCESSES: Final = 8
"""For the shards of a cache, where there are so many cores: each keeps a segment in memory."""
KEPT_LISTED_DOCUMENTS: Final = 10_000
"""What an index says of documents, for the next query."""
KEPT_DOCUMENTS_BYTES: Final = 32 << 20
"""Of a cache's documents, for the next query; then all are let go."""
OPEN_FOLDERS: Final = 8
"""Documents of one folder are mostly read together; each that stays open costs a descriptor."""
BUILD_POSTINGS: Final = 3_000_000
"""In memory while a cache is built; then they are written to a file and merged later."""
BUILD_TERMS: Final = 300_000
"""In memory while a cache is built: many rare words cost more than their postings."""
EMBEDDED_SECTIONS: Final = 256
"""At a time, while a cache is built with an embedder, which may put texts of like length together."""
VERIFIED_VECTORS: Final = 32
"""So many sections, spread over a cache, does `verify` embed again: all would take as long as the build."""
STAGING_NAME_BYTES: Final = 200
"""A file system allows 255, some of which are the prefix's; a longer name is replaced by its hash."""
STAGING_TRIES: Final = 100
"""Others may make and remove the staging directory meanwhile, but not for ever."""

# Caches in object stores
STORE_SECONDS: Final = 10.0
"""Of a request; a store that is slower is asked again."""
STORE_RETRIES: Final = 2
"""Of a request that failed or took too long; then the answer is an error, before the tool's time is over."""
STORE_REQUESTS: Final = 16
"""At once: what a question needs is few, and a store slows down whoever asks for more."""
STORE_GAP_BYTES: Final = 8 << 10
"""Between two ranges, which then are one request: so many bytes come sooner than another answer."""
STORE_PIECE_BYTES: Final = 4 << 20
"""Of an object that is read whole; pieces come side by side, and one that fails is asked for again alone."""
STORE_ROOT_BYTES: Final = 1 << 20
"""Of the root of a cache; one of 64 shards has less than 100 kB."""
STORE_ROOT_SECONDS: Final = 10.0
"""Before a hall looks again, beside its answers, whether another version of a cache was put in place."""
OUTLINED_AT_ONCE: Final = 32
"""Pages whose records come in one round of requests, while an outline is made."""
FETCHED_BYTES: Final = 32 << 20
"""Of what came from a store, in memory, for the questions that follow."""
LOCAL_STORE_BYTES: Final = 512 << 20
"""Of what came from stores, in the user's cache directory; what was written first goes first."""
LOCAL_STORE_WRITES: Final = 256
"""Before its size is looked at again."""

# Clusters
CLUSTER_CONNECT_SECONDS: Final = 5.0
"""For a scheduler to answer, and for a worker to begin."""
CLUSTER_IDLE_SECONDS: Final = 20.0
"""Without any worker, before a build is given up: those that were lost are often started again."""
CLUSTER_SECONDS: Final = 20.0
"""For an answer; then it is an error, before the tool's time is over."""
KEPT_COUNTS_BYTES: Final = 4 << 20
"""Of how often terms occur in all shards, for the questions that follow."""
CLUSTER_SLOW_SECONDS: Final = 1.0
"""For a worker to answer, before another one is asked as well."""
CLUSTER_LOOK_SECONDS: Final = 10.0
"""Before a hall looks again which workers there are."""
CLUSTER_STOP_SECONDS: Final = 5.0
"""For workers to notice that a build was given up, so that nothing of it is left behind."""

# Documentation of installed packages
PACKAGES: Final = 2000
"""Of an environment; the others, by name, are counted."""
PACKAGE_FILES: Final = 20_000
"""That a package's RECORD or folder names; the others are not looked at."""
PACKAGE_LEVELS: Final = 16
"""Of a package's folders; what is deeper was not put there by people."""
PACKAGE_METADATA_BYTES: Final = 4 << 20
"""Of a METADATA, a RECORD, a package.json, a README; a larger one is not read."""
PACKAGE_SOURCE_BYTES: Final = 4 << 20
"""Of one module; people do not write larger ones, and generated ones are data."""
PACKAGE_TOTAL_BYTES: Final = 32 << 20
"""Of a package's modules, which are in memory together; the others, deepest first, are left out."""
PACKAGE_DOCSTRING_CHARACTERS: Final = 64 << 10
"""Of one docstring; a longer one is cut."""
PACKAGE_SIGNATURE_CHARACTERS: Final = 400
"""Of a parameter, a decorator or a value in a signature; a longer one is cut."""
PACKAGE_DECLARATION_CHARACTERS: Final = 4000
"""Of a type or an enumeration in TypeScript; a longer one is cut."""
PACKAGE_ATTRIBUTES: Final = 200
"""Of a class or a module, beside its functions; nobody reads more."""
PACKAGE_CLASS_LEVELS: Final = 8
"""Of classes and namespaces in each other."""
PACKAGE_EXPORT_STEPS: Final = 16
"""From a name to the module that defines it, import by import."""
PACKAGES_NAMED: Final = 10
"""In a warning; the others are counted."""
BUILD_LINES: Final = 10
"""Of each thing that a build says of its sources; then it says how many more there are."""
HTML_BYTES: Final = 16 << 20
"""Of a page that becomes Markdown; its elements take ten times as much, and a few seconds for each MiB."""
NOTEBOOK_BYTES: Final = 64 << 20
"""Of a notebook; most of a large one are pictures, which are dropped."""
NOTEBOOK_OUTPUT_LINES: Final = 12
"""Of what a cell printed; the rest is an ellipsis."""
NOTEBOOK_OUTPUT_CHARACTERS: Final = 1000
"""As above: a line may be long."""
GUESSED_ENCODING_BYTES: Final = 1 << 16
"""Of a file that is not UTF-8: its beginning tells the encoding, which must then hold for all of it."""
DOCUMENT_BYTES: Final = 256 << 20
"""Of a PDF, a Word file and so on."""
DOCUMENT_SECONDS: Final = 60.0
"""To convert one of them, in a process of its own; then that is killed, and the file is left out."""
DOCUMENT_MEMORY_BYTES: Final = 4 << 30
"""Of that process, addresses and not pages: an archive of a few bytes may unpack to any size."""
DOCUMENT_TEXT_BYTES: Final = 64 << 20
"""Of what such a file says."""
CONVERTED_LIST_LEVELS: Final = 12
"""Of lists and quotes in what is made of HTML: each level indents every line, and nobody reads deeper ones."""
LIST_NUMBER_DIGITS: Final = 8
"""Of the number that a list of HTML begins with; Markdown allows one more."""
TABLE_SPAN_DIGITS: Final = 2
"""Of the columns that a cell of HTML claims: each costs an empty cell."""
REPEATED_HEADING_CHARACTERS: Final = 200
"""Of a heading of HTML that is repeated after a list of terms; a longer one, repeated often, would fill the disk."""

# Contexts
CONTEXT_FILE_BYTES: Final = 1 << 20
"""Of a `.context.yaml`; nobody writes a larger one."""
LOCK_BYTES: Final = 16 << 20
"""Of a `.context.lock`: ten thousand directories need a quarter of it. A larger one is not read, and not replaced."""
LOCK_FILE_TRIES: Final = 5
"""Of a run to write `.context.lock` while others do; each reads it again."""
CHANGED_NAMES_BYTES: Final = 16 << 20
"""Of the names that `context check` is given."""
LISTED_CONTEXTS_BYTES: Final = 80_000
"""Of an answer of `list_contexts`, that is 20,000 tokens; `limit: 0` asks for all."""
YAML_LEVELS: Final = 64
"""With those that aliases add: aliases in aliases would nest without end."""
YAML_EXPANDED_CHARACTERS: Final = 4 << 20
"""Of the aliases, written out: aliases of aliases grow without end."""
YAML_DIRECTIVES: Final = 16
"""libyaml spends time on them that grows with the square of their number."""
OPEN_PROJECTS: Final = 8
"""What was learnt about the last few saves work."""
IGNORE_FILE_BYTES: Final = 1 << 20
"""Of a `.gitignore` or `.contextignore`."""
IGNORE_RULE_BYTES: Final = 4096
"""No path is longer. A rule that is, and could match one all the same, such as a huge class, is left out."""
IGNORE_WILDCARD_RULES: Final = 2048
"""In a directory: each is compiled; plain names and suffixes do not count."""
IGNORE_WILDCARD_BYTES: Final = 128 << 10
"""Of a directory's rules with wildcards, and of the one expression that is made of them."""
READER_SECONDS: Final = 60.0
"""The second process that reads contexts is killed then, and this one reads them."""

# Drafts of contexts
DRAFTED_FILE_BYTES: Final = 1 << 20
"""Of a source, a README or a manifest; people do not write larger ones, so they are not read."""
SMALL_SOURCE_BYTES: Final = 1 << 14
"""Too little to keep a parser busy: of larger sources, time and brackets are counted."""
SOURCE_PROCESSOR_SECONDS: Final = 1.0
"""For a source that is not small; what is made to keep a parser busy is given up."""
SOURCE_CLOCK_SECONDS: Final = 5.0
"""Where the parser does not come back for more of the file."""
OPEN_BRACKETS: Final = 2000
"""Far more than anybody writes: each costs the parser a kilobyte."""
OPEN_ANGLES: Final = 20_000
"""More `<` than `>` by so many: comparisons are in every source, so this is higher."""
SOURCE_BRACKET_LEVELS: Final = 100
"""So often the innermost pairs are taken away; what is left then counts as open."""
SOURCE_NODES: Final = 20_000
"""Of one node's children, and of one signature's tokens; the rest is not looked at."""
SOURCE_BLOCK_LEVELS: Final = 16
"""So many levels of `if` and the like are looked into."""
SYMBOL_CHARACTERS: Final = 200
"""A longer name of an export or an import was not written by people, and is left out."""
SIGNATURE_CHARACTERS: Final = 400
"""A longer one is shortened, or the name stands alone."""
DOC_CHARACTERS: Final = 1000
"""Of a comment's first paragraph, which is cut after a word."""
PROSE_CHARACTERS: Final = 64 << 10
"""Of a text, or bytes of a README: what it is about stands at its beginning."""
MARKUP_LEVELS: Final = 4
"""How deep markup may be nested in markup before the text is cut."""
SOURCE_LOADINGS: Final = 500
"""Of `require` and `import()` in a TypeScript source: each is looked up in the tree."""
PACKAGE_NAME_CHARACTERS: Final = 214
"""npm's own limit."""
PACKAGE_DESCRIPTION_CHARACTERS: Final = 500
"""It becomes a summary; a longer one is shortened."""
SUMMARY_CHARACTERS: Final = 320
"""Of a drafted summary; a longer sentence is none, and the next witness is asked."""
TITLE_CHARACTERS: Final = 60
"""Of a page's title in a summary; a longer one is left out."""
ASIDE_CHARACTERS: Final = 90
"""Of what a summary says in parentheses about a name; a longer sentence is left out."""
DRAFT_NAMES: Final = 6
"""In a sentence; the others are counted."""
DRAFT_EXPORTS: Final = 200
"""In a context; the others are counted."""
DRAFT_INTERFACES: Final = 100
"""In a context; nobody reads more."""
AGENTS_FILE_BYTES: Final = 1 << 20
"""A larger AGENTS.md is not ours to change."""
AGENTS_ROWS: Final = 40
"""Of the section in AGENTS.md, which every agent reads; `context status` lists the others."""
AGENTS_SCOPE_CHARACTERS: Final = 200
"""Of a path in a row; a longer one is cut."""
AGENTS_SUMMARY_CHARACTERS: Final = 120
"""Of a summary in a row; a longer one is cut."""

# Rule files, and briefs
RULE_FILE_BYTES: Final = 256 << 10
"""Of an AGENTS.md or another rule file: no agent reads a larger one, and neither does the hall."""
RULE_FILES: Final = 256
"""Of a project; the others are not looked at."""
RULE_FOLDER_LEVELS: Final = 4
"""Below `.claude/rules` and the like: nobody sorts rules deeper."""
RULE_NAMES: Final = 200
"""Paths that a rule file names, and that are looked for; each costs a call or more."""
RULE_PATTERNS: Final = 100
"""Of a rule file, braces written out."""
RULE_SETTINGS: Final = 200
"""Lines above a rule file that may be its front matter."""
RULE_IMPORT_LEVELS: Final = 5
"""From a CLAUDE.md to what it imports, and on; Claude Code follows no more."""
RULE_LISTED: Final = 50
"""Rule files in a listing; nobody's project has more that matter."""
RULE_GONE: Final = 10
"""Paths of one rule file that a listing calls gone."""
RULE_DIRECTORIES: Final = 2000
"""Directories below which a path is looked for that a rule file names: it may be meant from any of them."""
HOOK_EVENT_BYTES: Final = 16 << 20
"""Of what a client's hook is given: it may hold a whole file. Of a longer one nothing is said."""
HOOK_PATHS: Final = 32
"""That a tool call names; nobody edits more files at once, and a shell command may have many words."""
TOLD_SESSIONS: Final = 64
"""Sessions of agents of which it is known what they were told; the oldest are forgotten."""
TOLD_ITEMS: Final = 4096
"""Of a session; whoever was told as much is told nothing more."""

# Members and their lists
MANIFEST_BYTES: Final = 1 << 20
"""Of a member's manifest; nobody writes a larger one."""
MEMBER_NAME_CHARACTERS: Final = 100
"""A name is shown in tables, and begins the names of tools."""
FINGERPRINT_FILES: Final = 20_000
"""Of a member; the others, breadth first, do not count."""
FINGERPRINT_BYTES: Final = 256 << 20
"""Of a member's files; beyond, they count by size and time only."""
FINGERPRINT_LEVELS: Final = 16
"""Of a member's directories; what is deeper was not put there by people."""
TOOLS_CACHE_BYTES: Final = 64 << 20
"""Of a `tools-cache.json`, and of the definitions that a server lists."""
TOOL_DEFINITION_LEVELS: Final = 100
"""Fewer than `NESTED_LEVELS`: a definition is passed on inside of a list and an answer."""
TOOL_NAME_CHARACTERS: Final = 256
"""Of a tool as its server calls it; a tool with a longer name is left out."""
LEFT_OUT_SENTENCES: Final = 20
"""About tools that are left out; the others are counted."""
RECORD_NAME_CHARACTERS: Final = 40
"""Of a member's name in the names of its files; a hash makes them distinct."""
FOUND_TOOLS: Final = 50
"""Of `guild_find_tools`: an agent that wants more wants another query."""
TOOL_QUERY_WORDS: Final = 256
"""Of a query for tools: so many different words count, and a tool needs no more to be named."""

# The journal of calls (`system/journal.py`)
JOURNAL_BYTES: Final = 1 << 20
"""Of a file: about 5,000 calls. A hall process keeps two, the one it writes and the one before."""
JOURNAL_FILES: Final = 40
"""Of all hall processes together; the oldest are removed."""
JOURNAL_LINE_BYTES: Final = 64 << 10
"""A longer line is none of the hall's."""
JOURNAL_WORD_CHARACTERS: Final = 200
"""Of the name of a client or a cache, of a scope and of an id: callers choose them."""
JOURNAL_TEXT_CHARACTERS: Final = 4000
"""Of arguments and of a result with `--journal full`; the rest is left out."""
JOURNAL_READ_CHARACTERS: Final = 32 << 10
"""Of these, looked through for credentials, at up to 0.5 µs each; the rest is left out, longer markup withheld."""
JOURNAL_IDS: Final = 50
"""Of the sections of an answer, the first ones."""
JOURNAL_MOST: Final = 1 << 53
"""Above that no number in a line can be a size or a time."""
JOURNAL_CALLS: Final = 10_000
"""The last ones of all files are added up for the page, and looked through for new ones."""
PAGE_CALLS: Final = 100
"""The last ones are listed on the page."""
JOURNAL_FOLLOW_SECONDS: Final = 0.5
"""Between two looks of `context activity --follow`."""
JOURNAL_LOOK_SECONDS: Final = 1.0
"""Between two looks of a hall whether its file is still there: a user may have removed it."""
JOURNAL_RETRY_SECONDS: Final = 60.0
"""After a failure, such as a full disk, until writing is tried again: calls go on meanwhile."""

# Members' servers
MEMBER_START_SECONDS: Final = 10.0
"""For a server to answer `initialize`, and with each page of its tools; its manifest may say otherwise."""
KEYRING_SECONDS: Final = 60.0
"""For a keyring to give a secret: its user may have to unlock it first."""
TRACE_CHARACTERS: Final = 8192
"""Of each of `traceparent`, `tracestate` and `baggage` in `_meta`; a longer one does not go along."""
FIRST_START_SECONDS: Final = 120.0
"""For the first start of what a package runner (`npx`, `uvx`) may have to download; its manifest may say otherwise."""
SLOW_START_SECONDS: Final = 3.0
"""After so long, and again and again, people are told of a first start that goes on."""
MEMBER_TOOL_SECONDS: Final = 30.0
"""For a call; its manifest may say otherwise."""
MEMBER_IDLE_SECONDS: Final = 300.0
"""Without a call; then a server is stopped. Its manifest may say otherwise."""
SERVER_STARTS: Final = 4
"""At a time, for calls and for refreshes each: a start takes the most of the machine."""
START_TURN_SECONDS: Final = 1.0
"""Then a server is started out of turn: a call must not hang on other servers."""
FIRST_BACK_OFF_SECONDS: Final = 0.5
"""After the second failure in a row; it doubles with each."""
LAST_BACK_OFF_SECONDS: Final = 30.0
"""A server that is mended should not be waited for long."""
BACK_OFF_DOUBLINGS: Final = 10
"""More than it takes to the longest back-off; a power of any number of failures would overflow."""
BACK_OFF_WAIT_SECONDS: Final = 2.0
"""A call waits so long for the next start; else it fails at once, and says when to try again."""
MEMBER_MESSAGE_BYTES: Final = 16 << 20
"""A longer line is a fault, not a message; the call that it may answer fails."""
MEMBER_MESSAGE_VALUES: Final = 400_000
"""Of one that is parsed: so many take a tenth of a second, in which nobody else has a turn. What passes is not."""
LONG_LINE_END_BYTES: Final = 4096
"""Of the beginning and the end of a line that is too long: enough to find which call it answers."""
MEMBER_OUTPUT_BYTES: Final = 8 << 20
"""Of standard output that waits; then no more is read for a while."""
MEMBER_STDERR_BYTES: Final = 256 << 10
"""Then reading pauses, so that it cannot starve the event loop."""
STDERR_PAUSE_SECONDS: Final = 0.1
"""Such a pause."""
RUBBISH_LINES: Final = 200
"""Of a server that prints what is no message; then it waits until others were listened to."""
RUBBISH_PAUSE_SECONDS: Final = 0.05
"""How long it waits."""
RUBBISH_QUOTE_BYTES: Final = 200
"""Of such a line, in the log and in errors; and where a call's number is looked for."""
MEMBER_QUESTIONS: Final = 64
"""Answers that wait for a server which does not read; who asks more gets no answer to the rest."""
QUEUED_PROGRESS: Final = 16
"""While the last is still being told; older ones are dropped."""
PROGRESS_SECONDS: Final = 0.5
"""For a caller to take a report of progress; one that does not gets no more of them, and so its answer in time."""
LISTED_TOOLS: Final = 100_000
"""Of one server; no agent can choose among them."""
LISTED_PAGES: Final = 10_000
"""Of a `tools/list`; one that goes on never ends."""
CONNECT_SECONDS: Final = 30.0
"""To open a connection to a server over HTTP."""
READ_SECONDS: Final = 300.0
"""Beyond the time of a call: only what nobody waits for any more has to end."""
KNOCK_SECONDS: Final = 0.02
"""Between two tries whether a server that was started listens on its port."""
CONNECTION_GRACE_SECONDS: Final = 1.0
"""For a server's end to become known, and why."""
CONNECTION_STOP_SECONDS: Final = 6.0
"""To end a connection and its server; then it is abandoned."""
HASTY_STOP_SECONDS: Final = 2.0
"""The same when the hall ends."""
END_OF_INPUT_SECONDS: Final = 2.0
"""For a server to end by itself once its input has; then it gets SIGTERM. A quarter in haste."""
TERMINATION_SECONDS: Final = 1.0
"""After SIGTERM; then it gets SIGKILL. A quarter in haste."""
KILL_SECONDS: Final = 2.0
"""For the kernel to end what got SIGKILL."""
FIRST_LIST_SECONDS: Final = 10.0
"""Lists are refreshed once an agent was given its list; one that asks for none is not waited for longer."""
LIST_ANSWER_SECONDS: Final = 0.1
"""Before the refresh, so that the agent's answer is on its way."""
LIST_POLL_SECONDS: Final = 2.0
"""Between two looks at what other processes listed or approved."""
GUILD_LOOK_SECONDS: Final = 1.0
"""Between two looks at the guild directory, for members that came, went or changed."""
ANNOUNCEMENT_SECONDS: Final = 0.2
"""A server's announcements of changed tools within it count as one."""
MEMBER_LOG_BYTES: Final = 1 << 20
"""Of each of a log's two files: together 2 MiB, of which the older half is dropped."""
LOG_LINE_CHARACTERS: Final = 500
"""Of the last line that a server printed, which its errors quote, and of a line of a refresh in the log."""

# Clients over MCP
REQUESTS_UNDER_WAY: Final = 128
"""Calls of a stdio client; those beyond wait for a place."""
WAITING_BYTES: Final = 4 << 20
"""Of calls that wait for a place; then no more is read. As values, they take a multiple of that."""
UNWRITTEN_BYTES: Final = 64 << 10
"""Of answers that a stdio client has not taken; then no more is read."""
DRAIN_SECONDS: Final = 10.0
"""For requests under way when the input has ended, again with each answer."""
LAST_ANSWER_SECONDS: Final = 1.0
"""At the end, for calls that were cancelled to end."""
TOOL_THREADS: Final = 8
"""For native tools: so many for agents, and so many for pages."""
TOOL_THREAD_SECONDS: Final = 0.01
"""That a call waits for a busy thread before one more is started: of many small calls, few threads do more."""
TOOL_MOMENT_SECONDS: Final = 0.005
"""That the event loop waits for small calls of native tools: as long as Python lets one thread keep others waiting."""
UNCOLLECTED_OBJECTS: Final = 20_000
"""New ones, until the garbage collector looks for cycles: calls leave none, and looking at every tenth call is slow."""
UNKNOWN_TOOL_CHARACTERS: Final = 1000
"""Of a tool's name that nobody knows, in the error about it."""
SUBSCRIPTIONS: Final = 100
"""At a time: each is a request that stays open."""
HTTP_SESSIONS: Final = 100
"""At `/mcp`, in the protocol of 2025: more agents than that use one hall in turns."""
SESSION_IDLE_SECONDS: Final = 1800.0
"""Then a session ends."""
UNUSED_SESSION_SECONDS: Final = 30.0
"""Where there is no room, a session that was only opened has to go after it."""
USED_SESSION_SECONDS: Final = 300.0
"""Where there is no room, a session that was used has to go after it."""
LARGE_BODY_BYTES: Final = 1 << 20
"""A body at `/mcp` of this size or more takes its turn."""
LARGE_BODIES: Final = 4
"""At `/mcp` at a time, since each costs many times its size; the others wait."""

# Connections over HTTP, and the page
HTTP_CONNECTIONS: Final = 256
"""Or a quarter of the descriptors; a few more are told so, the rest turned away."""
LISTEN_BACKLOG: Final = 128
"""uvicorn accepts so many connections in one turn of the event loop."""
HTTP_HEAD_BYTES: Final = 32 << 10
"""Of a request's head, with whatever else of it is no body: sizes of chunks, their extensions, trailers."""
HTTP_BODY_SHARE: Final = 32
"""One more byte that is no body may come with each so many that are: chunks of 256 bytes pass, and no smaller ones."""
HTTP_HEAD_SECONDS: Final = 10.0
"""For a request's head: who sends it a byte at a time is let go."""
HTTP_BODY_SECONDS: Final = 60.0
"""For a request's body."""
HTTP_READING_SECONDS: Final = 30.0
"""How long a client may read nothing of what waits for it."""
HTTP_SURPLUS_SECONDS: Final = 2.0
"""For the head of a request on a connection too many, which is told so."""
HTTP_BODY_BYTES: Final = 17 << 20
"""Of a body, whether or not anybody reads it: the largest that is read, and a little more."""
SHUTDOWN_SECONDS: Final = 2
"""For answers under way when the hall ends."""
PAGE_BODY_BYTES: Final = 4 << 20
"""Of a request at `/api`: people type less."""
PAGE_PLACES: Final = 200
"""Of a ranking, in one answer to the page."""
PAGE_CONTENTS_TOKENS: Final = 8_000
"""Of a cache's headings, in one answer to the page: some fifty pages of a handbook."""
PAGE_RENDERED_CHARACTERS: Final = 100_000
"""Of a text that the page shows rendered; a longer one is shown as it is, because to parse it takes seconds."""
PAGE_LOG_LINES: Final = 10_000
"""Of a member's log in an answer to the page."""
PAGE_ROSTER_SECONDS: Final = 0.25
"""For a look at the members' files before the roster is shown; large ones are looked at by the refresh."""
EVENT_STREAMS: Final = 64
"""Of pages at a time."""
WAITING_EVENTS: Final = 256
"""For a page that does not read; then it is let go, and asks for the roster anew."""
UNWATCHED_SECONDS: Final = 0.05
"""Of a call over HTTP, before it is watched whether its client hangs up: that costs more than most calls take."""
HEARTBEAT_SECONDS: Final = 15.0
"""Between two signs of life on a stream, so that nobody on the way takes it for dead."""

# The command line
DOCTOR_FINDINGS: Final = 5
"""Of a section, beside all that is wrong; `--json` has all."""
DOCTOR_SENTENCE_CHARACTERS: Final = 300
"""Of a finding; a longer one is cut."""
DOCTOR_NAMES: Final = 3
"""In a finding; the others are counted."""
DOCTOR_TRIED_DIRECTORIES: Final = 200
"""Of a project without contexts, in which `context doctor` tries what can be drafted: it takes about a second."""
DOCTOR_PROBE_SECONDS: Final = 2.0
"""For whatever listens on the hall's port to answer."""
DOCTOR_PROBE_BYTES: Final = 1 << 16
"""Of that answer; a hall's is short."""
NAMES_COMPARED: Final = 2_000
"""Of all names, in their spelling, with one that is not there: of more, only those that end like it."""
SETUP_CACHES: Final = 6
"""That `context setup` proposes, of the folders with most documents: an agent has to choose among them."""
SETUP_OUTLINE_TOKENS: Final = 50_000
"""Of a cache, to find a question that can be tried."""
