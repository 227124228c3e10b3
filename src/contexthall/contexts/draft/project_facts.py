"""The package manager and the framework of a project, by tables of lock files and dependencies.

Pure.
"""

import re
from collections.abc import Collection, Sequence

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


FRAMEWORKS: dict[str, tuple[str, str]] = {
    "django": ("django", ""),
    "flask": ("flask", ""),
    "fastapi": ("fastapi", "starlette"),
    "litestar": ("litestar", "starlette"),
    "starlette": ("starlette", ""),
    "quart": ("quart", "flask"),
    "sanic": ("sanic", ""),
    "tornado": ("tornado", ""),
    "pyramid": ("pyramid", ""),
    "bottle": ("bottle", ""),
    "falcon": ("falcon", ""),
    "streamlit": ("streamlit", "tornado"),
    "dash": ("dash", "flask"),
    "next": ("next", "react express"),
    "gatsby": ("gatsby", "react"),
    "@remix-run/react": ("remix", "react express"),
    "expo": ("expo", "react react-native"),
    "react-native": ("react-native", "react"),
    "nuxt": ("nuxt", "vue express"),
    "@sveltejs/kit": ("sveltekit", "svelte"),
    "astro": ("astro", "react vue svelte preact solid"),
    "@angular/core": ("angular", "express"),
    "@nestjs/core": ("nestjs", "express fastify"),
    "react": ("react", ""),
    "vue": ("vue", ""),
    "svelte": ("svelte", ""),
    "preact": ("preact", ""),
    "solid-js": ("solid", ""),
    "ember-source": ("ember", ""),
    "lit": ("lit", ""),
    "electron": ("electron", "react vue svelte angular"),
    "express": ("express", ""),
    "fastify": ("fastify", ""),
    "koa": ("koa", ""),
    "hono": ("hono", ""),
    "@hapi/hapi": ("hapi", ""),
    "github.com/gin-gonic/gin": ("gin", ""),
    "github.com/labstack/echo": ("echo", ""),
    "github.com/gofiber/fiber": ("fiber", ""),
    "github.com/go-chi/chi": ("chi", ""),
    "github.com/beego/beego": ("beego", ""),
    "axum": ("axum", ""),
    "actix-web": ("actix-web", ""),
    "rocket": ("rocket", ""),
    "warp": ("warp", ""),
    "poem": ("poem", ""),
    "leptos": ("leptos", "axum actix-web"),
    "yew": ("yew", ""),
    "dioxus": ("dioxus", "axum"),
    "tauri": ("tauri", ""),
    "bevy": ("bevy", ""),
}
"""What the dependency on a framework is called, what the framework is, and the frameworks that it is built on."""


def framework(dependencies: Sequence[str]) -> str:
    """Return the one framework among `dependencies`, as `read_manifest` names them; nothing if there is none, or two.

    A framework that another one is built on does not count beside it.
    """
    names = {_MAJOR.sub("", dependency.partition(" ")[0]).lower() for dependency in dependencies}
    found = [FRAMEWORKS[name] for name in FRAMEWORKS if name in names]
    beneath = {name for _, built_on in found for name in built_on.split()}
    above = [name for name, _ in found if name not in beneath]
    return above[0] if len(above) == 1 else ""
