"""Ten languages are read alike: the comment about a file, its exports with their methods, and its imports."""

import pytest

from contexthall.contexts.draft.languages.language import Layout, SourceOutline
from contexthall.contexts.draft.languages.table import language_of, read

JAVA = """/* Copyright (c) somebody */
package shop.core;

import java.util.List;
import static shop.money.Cents.of;

/** A {@code cart} of things. More. */
@Entity
@Table(name = "carts")
public abstract class Cart<T extends Item>
    extends Base implements Sized {
  /** Adds one. */
  @Override public int add(T item) throws Full { return 1; }
  void hidden() {}
  private static final String SECRET = "hunter2";
}
class PackagePrivate {}
"""
KOTLIN = """package shop.core
import shop.money.Cents
/** A [Cart] of [things to buy][items]. */
open class Cart(val owner: String, private val size: Int = 3) : Base() {
    fun add(item: Item): Int { return 1 }
    private fun hidden() {}
}
internal class Hidden
/** Sums up. */
fun total(cart: Cart): Int { return 1 }
"""
SCALA = """package shop.core
import shop.money.{Cents, Euro}
/** A [[shop.core.Cart]] of things. */
sealed abstract class Cart[F[_]](val owner: String) extends Base {
  def add(item: Item): Int = 1
  private def hidden = 1
}
private[shop] class Hidden
"""
CSHARP = """using System;
using Shop.Money;
namespace Shop.Core
{
    /// <summary>
    /// A <see cref="T:Shop.Cart"/> of <c>things</c>.
    /// </summary>
    /// <remarks>More.</remarks>
    [Serializable]
    public sealed class Cart<T> : Base where T : class
    {
        public int Add(T item) => 1;
        internal void Hidden() {}
        public int Size { get; set; }
    }
    internal class Hidden {}
}
"""
HEADER = """/* cart.h - carts of things
 *
 * Copyright (c) somebody */
#ifndef CART_H
#define CART_H
#include "money/cents.h"
#include <stdio.h>
typedef struct cart { int size; } cart;
/* Adds one. */
int cart_add(cart *c, const char *item);
static int _hidden(void) { return 1; }
#endif
"""
CPP = """#pragma once
#include "money/cents.hpp"
namespace shop {
/// A cart of things.
template <typename T> class Cart : public Base {
 public:
  int add(const T& item);
 private:
  void hidden();
};
}
"""
RUBY = """# frozen_string_literal: true

require_relative "money/cents"
module Shop
  # A cart of things.
  class Cart < Base
    def add(item) = 1

    def self.empty = new

    private

    def hidden; end
  end
end
"""
PHP = """<?php declare(strict_types=1);
/*
 * This file is part of the shop.
 */
namespace Shop\\Core;

use Shop\\Money\\Cents;

/**
 * A cart of things.
 *
 * @author Somebody
 */
final class Cart extends Base implements Sized
{
    public function add(Item $item, string $token = 'hunter2'): int { return 1; }
    private function hidden(): void {}
}
"""
SWIFT = """//
//  Cart.swift
//
//  Created by somebody on 1/1/20.
//
import Money

/// A cart of things.
public final class Cart<T>: Base {
    public func add(_ item: T) -> Int { 1 }
    func hidden() {}
}
class Hidden {}
"""
SHELL = """#!/usr/bin/env bash
# Fills carts with things.
set -e
source ./money/cents.sh

# Adds one.
cart_add() { echo "$1"; }
_hidden() { :; }
"""
READ: dict[str, tuple[str, list[tuple[str, tuple[str, ...], str]], str]] = {
    "Cart.java": (
        JAVA,
        [("public abstract class Cart<T extends Item> extends Base implements Sized", ("add",), "A cart of things.")],
        "shop.money.Cents",
    ),
    "Cart.kt": (
        KOTLIN,
        [
            (
                "open class Cart(val owner: String, private val size: Int = 3) : Base()",
                ("add",),
                "A `Cart` of things to buy.",
            ),
            ("fun total(cart: Cart): Int", (), "Sums up."),
        ],
        "shop.money.Cents",
    ),
    "Cart.scala": (
        SCALA,
        [("sealed abstract class Cart[F[_]](val owner: String) extends Base", ("add",), "A `Cart` of things.")],
        "shop.money",
    ),
    "Cart.cs": (
        CSHARP,
        [("public sealed class Cart<T> : Base where T : class", ("Add",), "A `Cart` of things.")],
        "Shop.Money",
    ),
    "cart.h": (
        HEADER,
        [
            ("typedef struct cart { int size; } cart", (), ""),
            ("int cart_add(cart *c, const char *item)", (), "Adds one."),
        ],
        "money/cents.h",
    ),
    "cart.hpp": (
        CPP,
        [("template <typename T> class Cart : public Base", ("add",), "A cart of things.")],
        "money/cents.hpp",
    ),
    "cart.rb": (RUBY, [("class Shop::Cart < Base", ("add", "empty"), "A cart of things.")], "./money/cents"),
    "Cart.php": (
        PHP,
        [("final class Cart extends Base implements Sized", ("add",), "A cart of things.")],
        "Shop\\Money\\Cents",
    ),
    "Cart.swift": (SWIFT, [("public final class Cart<T>: Base", ("add",), "A cart of things.")], "Money"),
    "cart.sh": (SHELL, [("cart_add()", (), "Adds one.")], "./money/cents.sh"),
}


@pytest.mark.parametrize("name", READ)
def test_a_file_says_what_it_offers_and_what_it_imports(name: str) -> None:
    text, exports, imported = READ[name]
    found = read(name, text.encode())
    written = [(each.signature, each.methods, each.doc) for each in found.exports]
    assert len(written) == len(exports)
    for (signature, methods, doc), (wanted, wanted_methods, begins) in zip(written, exports, strict=True):
        assert (signature, methods) == (wanted, wanted_methods)
        assert doc.replace("`things`", "things").startswith(begins)
    assert imported in found.imports
    assert "hunter2" not in str(found.exports)


@pytest.mark.parametrize("name", READ)
def test_neither_an_owner_nor_half_a_file_speaks_for_one(name: str) -> None:
    data = READ[name][0].encode()
    assert "somebody" not in read(name, data).doc.lower()
    for cut in range(0, len(data), 37):
        read(name, data[:cut])  # whatever it holds, reading it ends
    assert read(name, b"\xff\xfe\0" + data) == SourceOutline(is_parsed=False)


def test_of_a_kotlin_file_with_a_syntax_error_nothing_is_told() -> None:
    assert read("a.kt", KOTLIN.encode() + b"\nfun (\n") == SourceOutline(is_parsed=False)


def test_a_source_of_c_offers_nothing_and_says_what_it_is() -> None:
    found = read(
        "cart.c",
        b"/* cart.c -- Carts of things.\n *\n * Copyright (c) x */\n#include <a.h>\nint f(void) { return 1; }\n",
    )
    assert (found.doc, found.exports) == ("cart.c -- Carts of things.", ())


def test_a_comment_above_the_package_is_about_the_package() -> None:
    found = read("package-info.java", b"/* Copyright x */\n/** Carts of things. */\n@NonNull\npackage shop.core;\n")
    assert found.doc == "Carts of things."
    assert (
        read("package.scala", b"/** Carts of things. */\npackage object cart { val a = 1 }\n").doc == "Carts of things."
    )


def test_methods_are_told_of_the_first_five_languages_too() -> None:
    sources = {
        "a.py": b"class A:\n    def go(self): ...\n    @property\n    def size(self): ...\n    def _no(self): ...\n",
        "a.ts": b"export class A { go() {} private no() {} #no() {} get size() { return 1 } constructor() {} }\n",
        "a.rs": b"pub struct A;\nimpl A { pub fn go() {} fn no() {} pub(crate) fn no2() {} pub fn size() {} }\n"
        b"impl X for A { fn no3() {} }\n",
    }
    for name, data in sources.items():
        assert [each.methods for each in read(name, data).exports] == [("go", "size")]


LAYOUT = {
    "Cart.java": ("shop.money.Cents", "src/main/java/shop/money"),
    "Cart.kt": ("shop.money.Cents", "src/main/java/shop/money"),
    "Cart.scala": ("shop.money", "src/main/java/shop/money"),
    "Cart.cs": ("Shop.Money", "src/Shop/Money"),
    "Cart.php": ("Shop\\Money\\Cents", "src/Shop/Money"),
    "cart.h": ("money/cents.h", "core/money"),
    "cart.rb": ("./money/cents", "core/money"),
    "cart.sh": ("./money/cents.sh", "core/money"),
    "Cart.swift": ("Money", "Sources/Money"),
}


@pytest.mark.parametrize("name", LAYOUT)
def test_an_import_leads_to_the_directory_that_has_it(name: str) -> None:
    layout = Layout(
        {
            **dict.fromkeys(("core", "src/test/java/shop/money", "src/main/java/shop/money", "src/Shop/Money"), ()),
            "core/money": ("cents.h",),
            "Sources/Money": (),
            ".": (),
        },
        {},
    )
    imported, place = LAYOUT[name]
    language = language_of(name)
    assert language is not None
    assert language.resolver(layout, imported, "core") == place
    assert language.resolver(layout, "elsewhere.far.Away", "core") is None


def test_a_macro_before_a_name_is_passed_over() -> None:
    text = "class SHOP_EXPORT Cart final : public Base {\n public:\n  void add();\n};\nSHOP_API int cart_open(int a);\n"
    assert [(each.name, each.signature) for each in read("a.h", text.encode()).exports] == [
        ("Cart", "class Cart final : public Base"),
        ("cart_open", "int cart_open(int a)"),
    ]


def test_a_member_that_is_defined_outside_of_its_class_is_no_export() -> None:
    text = "template <class T>\nclass Cart {};\ntemplate <class T>\nvoid Cart<T>::add_all(T a) {}\n"
    assert [each.name for each in read("a.h", text.encode()).exports] == ["Cart"]


def test_of_a_source_of_c_what_stands_above_its_first_declaration_is_read() -> None:
    text = '/* Opens carts. */\n#ifdef A\n#include "a/b.h"\n#endif\n#include <c.h>\n\nint x(void) { return "{{{";\n'
    found = read("a.c", text.encode())
    assert (found.doc, found.imports, found.exports, found.is_parsed) == ("Opens carts.", ("a/b.h", "<c.h>"), (), True)
