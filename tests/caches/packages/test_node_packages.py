"""Pages of packages of npm: declaration files from where a package begins, and what one that lies can do."""

import json
from pathlib import Path

import pytest
from tests.caches.packages.installing import pages_of, write

from contexthall.caches.packages.declarations import read_declarations

INDEX = """
export * from "./lib/more.js";
export { parse as read } from "./lib/parse";
/// <reference path="globals.d.ts" />

/**
 * Makes a thing.
 *
 * # Not a heading
 * @param size how large, see {@link Thing}
 */
export declare function make<T>(size: number): Promise<T>;
export declare function make(size: string, options?: { strict?: boolean; retries?: number; timeout?: number }): Thing;

/** A thing. */
export declare class Thing extends Base implements Other {
    /** Its size. */
    readonly size: number;
    private secret;
    #hidden: string;
    constructor(size: number);
    /** Grows. */
    grow(by?: number): this;
    private shrink(): void;
}
export type Size = "small" | "large";
export declare const VERSION: string;
declare namespace things { interface Options { deep: boolean; } }
declare module "other:things" { function f(): void; }
declare module "../../../escape" { function inside(): void; }
"""


def install_node(project: Path, name: str, version: str, files: dict[str, str], **said: object) -> None:
    folder = project / "node_modules" / name
    write(folder, {"package.json": json.dumps({"name": name, "version": version, **said}), **files})


def test_pages_begin_where_the_package_does(tmp_path: Path) -> None:
    files = {
        "README.md": "# Things",
        "dist/index.d.ts": INDEX,
        "dist/lib/more.d.ts": "export interface More { a: string; b(x: number): void; (call: string): More }",
        "dist/lib/parse.d.ts": "export declare const parse: (text: string) => Thing;",
        "dist/globals.d.ts": "declare global { interface Window { things: Thing } }",
        "dist/unreachable.d.ts": "export declare function never(): void;",
        "node_modules/inner/index.d.ts": "export declare function inner(): void;",
        "docs/guide.md": "Guide.",
    }
    install_node(tmp_path, "things", "3.1.0", files, exports={".": {"import": {"types": "./dist/index.d.ts"}}})
    pages, warnings = pages_of(tmp_path)
    assert not warnings
    assert sorted(pages) == [
        "things@3.1.0/README.md",
        "things@3.1.0/api/other/things.md",
        "things@3.1.0/api/things/dist/globals.md",
        "things@3.1.0/api/things/dist/index.md",
        "things@3.1.0/api/things/dist/lib/more.md",
        "things@3.1.0/api/things/dist/lib/parse.md",
        "things@3.1.0/docs/guide.md",
    ]
    page = pages["things@3.1.0/api/things/dist/index.md"]
    assert [line for line in page.split("\n") if line.startswith("#")] == [
        "# things/dist/index",
        "## make",
        "## Thing",
        "### Thing.grow",
        "## Size",
        "## VERSION",
        "## things.Options",
        "## inside",
    ]
    assert "things 3.1.0, TypeScript declarations `things/dist/index`." in page
    assert "function make<T>(size: number): Promise<T>\n" in page
    assert "**Not a heading**\n- param: size how large, see `Thing`" in page
    assert (
        "class Thing extends Base implements Other {\n    readonly size: number;\n    constructor(size: number);\n}"
        in page
    )
    assert "- `size`: Its size." in page
    assert 'type Size = "small" | "large"' in page
    assert "Also here: `read` (./lib/parse)." in page


def test_types_of_another_package_come_with_it(tmp_path: Path) -> None:
    install_node(tmp_path, "@types/tiny", "1.0.0", {"index.d.ts": "export declare function tiny(): void;"})
    assert "# @types/tiny\n" in pages_of(tmp_path)[0]["@types/tiny@1.0.0/api/@types/tiny.md"]


@pytest.mark.parametrize(
    "said",
    [
        {"types": "../../outside.d.ts"},
        {"types": "/etc/passwd"},
        {"types": 7, "exports": [[]]},
        {"exports": {"./*": "./*.js", ".": {"types": {"types": {"types": None}}}}},
        {"types": "loop.d.ts"},
    ],
)
def test_no_manifest_is_fatal(tmp_path: Path, said: dict[str, object]) -> None:
    write(tmp_path, {"outside.d.ts": "export declare function outside(): void;"})
    files = {"index.d.ts": "export declare function inside(): void;", "loop.d.ts": 'export * from "./loop";'}
    install_node(tmp_path, "a", "1.0.0", files, **said)
    assert "outside" not in "".join(pages_of(tmp_path)[0].values())


@pytest.mark.parametrize("version", ["", "1/../..", "../1", 7, "1\n2"])
def test_a_package_without_a_version_is_none(tmp_path: Path, version: object) -> None:
    install_node(tmp_path, "good", "1.0.0", {"README.md": "Good."})
    write(tmp_path / "node_modules" / "bad", {"package.json": json.dumps({"name": "bad", "version": version})})
    assert list(pages_of(tmp_path)[0]) == ["good@1.0.0/README.md"]


def test_what_is_linked_from_elsewhere_is_left_out(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    install_node(project, "good", "1.0.0", {"README.md": "Good."})
    write(elsewhere, {"package.json": '{"name": "linked", "version": "1.0.0"}', "README.md": "Secret."})
    store = project / "node_modules" / ".store" / "node_modules" / "stored"
    write(store, {"package.json": '{"name": "stored", "version": "2.0.0"}', "README.md": "Stored."})
    (project / "node_modules" / "linked").symlink_to(elsewhere)
    (project / "node_modules" / "stored").symlink_to(store)
    (store / "docs").symlink_to(elsewhere)
    assert sorted(pages_of(project)[0]) == ["good@1.0.0/README.md", "stored@2.0.0/README.md"]


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"{" * 50_000, b"namespace a {" * 500, b"declare module '' {}"])
def test_no_declaration_file_is_fatal(data: bytes) -> None:
    assert read_declarations("x", data).sources == ()
