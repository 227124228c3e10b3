"""The package manager and the framework of a project, by tables of lock files and dependencies.

Pure.
"""

import re
from collections.abc import Collection, Sequence

from contexthall.core.parsing import words

_MAJOR = re.compile(r"/v\d{1,4}$")

PACKAGE_MANAGERS: dict[str, str] = {
    "uv.lock": "uv",
    "poetry.lock": "poetry",
    "pdm.lock": "pdm",
    "pixi.lock": "pixi",
    "Pipfile.lock": "pipenv",
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "deno.lock": "deno",
    "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
    "Cargo.lock": "cargo",
    "go.sum": "go",
    "Gemfile.lock": "bundler",
    "composer.lock": "composer",
    "mix.lock": "mix",
    "pubspec.lock": "pub",
    "Podfile.lock": "cocoapods",
    "Package.resolved": "swiftpm",
    "packages.lock.json": "nuget",
    "gradle.lockfile": "gradle",
}
"""The package manager that writes a lock file, the first found speaking for the project."""


def package_manager(names: Collection[str]) -> str:
    """Return the package manager whose lock file is among `names`; pip if only requirements.txt is; else nothing."""
    found = (manager for lock, manager in PACKAGE_MANAGERS.items() if lock in names)
    return next(found, "pip" if "requirements.txt" in names else "")


_FRAMEWORKS = words(
    "django flask fastapi litestar starlette quart sanic tornado pyramid bottle falcon streamlit dash next gatsby expo "
    "react-native nuxt astro react vue svelte preact lit electron express fastify koa hono axum actix-web rocket warp "
    "poem leptos yew dioxus tauri bevy"
)
"""Those that are called what the dependency on them is called."""
_NAMES = {
    "@remix-run/react": "remix",
    "@sveltejs/kit": "sveltekit",
    "@angular/core": "angular",
    "@nestjs/core": "nestjs",
    "solid-js": "solid",
    "ember-source": "ember",
    "@hapi/hapi": "hapi",
    "github.com/gin-gonic/gin": "gin",
    "github.com/labstack/echo": "echo",
    "github.com/gofiber/fiber": "fiber",
    "github.com/go-chi/chi": "chi",
    "github.com/beego/beego": "beego",
}
"""Dependency → the framework that it is."""
_BUILT_ON = {
    "fastapi": "starlette",
    "litestar": "starlette",
    "quart": "flask",
    "streamlit": "tornado",
    "dash": "flask",
    "next": "react express",
    "gatsby": "react",
    "remix": "react express",
    "expo": "react react-native",
    "react-native": "react",
    "nuxt": "vue express",
    "sveltekit": "svelte",
    "astro": "react vue svelte preact solid",
    "angular": "express",
    "nestjs": "express fastify",
    "electron": "react vue svelte angular",
    "leptos": "axum actix-web",
    "dioxus": "axum",
}
"""Framework → those that it is built on."""


def framework(dependencies: Sequence[str]) -> str:
    """Return the one framework among `dependencies`, as `read_manifest` names them; nothing if there is none, or two.

    A framework that another one is built on does not count beside it.
    """
    names = {_MAJOR.sub("", dependency.partition(" ")[0]).lower() for dependency in dependencies}
    found = (names & _FRAMEWORKS) | {_NAMES[name] for name in names if name in _NAMES}
    above = found - {below for name in found for below in _BUILT_ON.get(name, "").split()}
    return above.pop() if len(above) == 1 else ""
