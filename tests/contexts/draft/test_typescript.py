"""The outline of a module in TypeScript or JavaScript: its doc comment, its exports and its imports."""

import pytest

from contexthall.contexts.draft.languages.table import BY_EXTENSION

MODULE = b"""\
#!/usr/bin/env node
/**
 * Copyright Somebody.
 */
/**
 * Serves {@link Thing things}.
 *
 * @packageDocumentation
 */
import fs from 'node:fs';
import type { A } from "./a";
export { b as c, default } from './b';
export * from './d.js';
const lazy = () => import('./lazy');
// require('./no')

/** Makes a thing. @see x */
export async function make<T>(
  o: { a: string
       b(): void },
  n = 'x',
): Promise<{ x: number }> {
  return require('./inner');
}
@Injectable({ key: "x" })
export abstract class Thing<T> extends Base<T> implements One, Two { x = 1 }
export const MAX = 3, LIMIT: number = 4;
export const add = async <T,>(x: T, ...rest: T[]): Promise<T> => x;
export let twice = x => x * 2;
export const { p, q: r } = config;
export type Kind =
  | 'a'
  | 'b';
export interface Shape extends Other { a: string }
export const enum Colour { Red }
export default class App {}
"""


def signatures(text: str, extension: str = "ts") -> list[str]:
    return [export.signature for export in BY_EXTENSION[extension].read(text.encode(), extension).exports]


def test_a_module_says_all_of_this() -> None:
    found = BY_EXTENSION["ts"].read(MODULE, "ts")
    assert found.doc == "Serves things."
    assert found.imports == ("node:fs", "./a", "./b", "./d.js", "./lazy", "./inner")
    assert [export.signature for export in found.exports] == [
        "c",
        "export default",
        "export * from './d.js'",
        "async function make<T>(o: { a: string; b(): void }, n = 'x'): Promise<{ x: number }>",
        "abstract class Thing<T> extends Base<T> implements One, Two",
        "MAX",
        "LIMIT: number",
        "const add = async <T>(x: T, ...rest: T[]): Promise<T>",
        "let twice = (x)",
        "p",
        "r",
        "type Kind = 'a' | 'b'",
        "interface Shape extends Other",
        "const enum Colour",
        "export default class App",
    ]
    assert found.exports[3].doc.startswith("Makes a thing.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "function f(o: {a: string; b(): void}): Promise<{x: number}> {}\nexport { f };",
            ["function f(o: {a: string; b(): void}): Promise<{x: number}>"],
        ),
        ("function f(a: string): void;\nfunction f(a: any) {}\nexport { f as g };", ["function g(a: string): void"]),
        ("export declare function f(): void;\nexport declare const x: A.B;", ["function f(): void", "x: A.B"]),
        ("export default function () {}", ["export default function ()"]),
        ("export default (a, b) => a", ["export default (a, b)"]),
        ("const a = (x: number) => x;\nexport default a;", ["export default const a = (x: number)"]),
        ("export default { name: 'x' };", ["export default"]),
        ("class A {}\nexport = A;", ["class A"]),
        ("export namespace N { export const x = 1 }", ["namespace N"]),
        ("export * as n from './n';", ["export * as n from './n'"]),
        ("export function* g() {}", ["function* g()"]),
        (
            "export function f(password = 'x', { token = 'y', z = 'w' } = {}) {}",
            ["function f(password = …, { token = …, z = 'w' } = {})"],
        ),
        (
            "export type T<A> = A extends string ? `x${A}` : never;",
            ["type T<A> = A extends string ? `x${A}` : never"],
        ),
        ("export function f() {}\nexport { f as g };", ["function f()", "function g()"]),
        ("const hidden = 1;\nfunction alsoHidden() {}", []),
    ],
)
def test_exports_have_many_forms(text: str, expected: list[str]) -> None:
    assert signatures(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "function a(x) {}\nmodule.exports = { a, b: function (y) {}, c: 1, d(z) {}, ...e };",
            ["function a(x)", "b = function (y)", "c", "d(z)"],
        ),
        ("exports = module.exports = create;\nfunction create(app) {}", ["function create(app)"]),
        ("exports.a = async (x, y = 1) => 1;\nmodule.exports.b = 2;", ["a = async (x, y = 1)", "b"]),
        ("module.exports = (a) => 1", ["module.exports = (a)"]),
        ("Object.defineProperty(exports, '__esModule', { value: true });\nexports.__esModule = true;", []),
    ],
)
def test_common_js_exports_too(text: str, expected: list[str]) -> None:
    assert signatures(text, "js") == expected


@pytest.mark.parametrize(
    ("text", "doc"),
    [
        ("/** About the file. */\n\nexport const a = 1;", "About the file."),
        ("/** About the file. */\nimport a from 'a';", "About the file."),
        ("/** About a. */\nexport const a = 1;", ""),
        ("/** @fileoverview About the file. */\nexport const a = 1;", "About the file."),
        ("/** @license MIT */\n\nexport const a = 1;", ""),
        ("/**\n * Module dependencies.\n */\n\nvar a = require('a')", ""),
        ("// About nothing.\n\nexport const a = 1;", ""),
    ],
)
def test_only_a_block_that_belongs_to_no_declaration_is_about_the_file(text: str, doc: str) -> None:
    assert BY_EXTENSION["js"].read(text.encode(), "js").doc == doc


def test_each_name_of_a_declaration_has_its_own_signature() -> None:
    text = "const first = (a: A) => 1, second = (b: B) => 2;\nexport { second, first as third };\n"
    assert signatures(text) == ["const second = (b: B)", "const third = (a: A)"]


def test_tsx_and_jsx_are_read() -> None:
    text = "export const Button: FC<Props> = (p) => <b>{p.x}</b>;\nexport function App(p: Props) { return <Button /> }"
    assert signatures(text, "tsx") == ["Button: FC<Props>", "function App(p: Props)"]
    assert signatures("export const A = ({ a, b = 1 }) => <b />;", "jsx") == ["const A = ({ a, b = 1 })"]


@pytest.mark.parametrize("broken", ["function broken( {\n", "if (x) {\n", "const s = {a: ;\n", "}}\n", "class { x(\n"])
def test_a_syntax_error_costs_its_own_lines(broken: str) -> None:
    text = f"import 'a';\nexport function first(x: A) {{}}\n\n{broken}\nexport class Last {{}}\n"
    found = BY_EXTENSION["ts"].read(text.encode(), "ts")
    assert [export.signature for export in found.exports] == ["function first(x: A)", "class Last"]
    assert found.imports == ("a",)
