"""What manifests say, without what they should not."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contexthall.contexts.draft.languages.project_manifest import ProjectManifest
from contexthall.contexts.draft.languages.table import MANIFESTS, read_manifest
from contexthall.contexts.draft.project_facts import PACKAGE_MANAGERS, framework, package_manager
from contexthall.core import limits

PYPROJECT = """
[project]
name = "tool"
description = "Reads\\n things."
dependencies = [
    "click>=8.2",
    "Mcp >= 2.3 , < 3",
    "uvicorn[standard] (>=0.1)",
    "tomli>=2; python_version < '3.11'",
    "private @ https://me:secret@example.org/private.whl#sha256=0",
    "beside @ file:///home/me/beside",
    "member>=1",
    "tool[all]",
    "CLICK",
    "for-tests; extra == 'test'",
    "not a requirement",
]
[project.optional-dependencies]
test = ["pytest"]
[tool.uv.sources]
member = { workspace = true }
"""
POETRY = """
[tool.poetry]
name = "tool"
description = "Reads things."
[tool.poetry.dependencies]
python = "^3.11"
click = "^8.2"
rich = { version = ">=13", extras = ["x"] }
any = "*"
near = { path = "../near" }
far = { git = "https://me:secret@example.org/far.git" }
spare = { version = "1", optional = true }
split = [{ version = "^1", python = "<3.12" }, { version = "^2" }]
[tool.poetry.group.dev.dependencies]
pytest = "*"
"""
SETUP_CFG = """
[metadata]
name = tool
description = Reads things.
version = attr: tool.version

[options]
install_requires =
    click>=8.2  # for the faces
    # nothing
    rich ; python_version > "3"
python_requires = >=3.11
"""
PACKAGE_JSON = """{
  "name": "@scope/tool", "description": "Reads things.",
  "dependencies": {
    "react": "^18.2.0", "any": "*", "range": ">=1 <2 || ^3", "near": "file:../near", "member": "workspace:*",
    "far": "git+https://me:secret@example.org/far.git", "hub": "someone/hub", "alias": "npm:@real/name@^1.0",
    "shared": "catalog:", "odd": 1, "bad name": "1"
  },
  "devDependencies": {"vitest": "1"},
  "peerDependencies": {"react": ">=17", "vue": "^3", "maybe": "1"},
  "peerDependenciesMeta": {"maybe": {"optional": true}}
}"""
CARGO = """
[package]
name = "tool"
description.workspace = true
[dependencies]
serde = "1.0"
tokio = { version = "1", features = ["full"] }
near = { path = "../near", version = "1" }
far = { git = "https://me:secret@example.org/far" }
renamed = { package = "real", version = "2" }
anyhow.workspace = true
member = { workspace = true }
[target.'cfg(unix)'.dependencies]
libc = "0.2"
[dev-dependencies]
proptest = "1"
"""
WORKSPACE = b"""
[workspace.package]
description = "Reads things."
[workspace.dependencies]
anyhow = "1.0.80"
member = { path = "member" }
"""
GO_MOD = """
module github.com/someone/tool/v2 // a comment

go 1.22

require github.com/spf13/cobra v1.8.0
require (
	github.com/gin-gonic/gin v1.9.1
	golang.org/x/sys v0.1.0 // indirect
	example.org/near v0.0.0
)
replace example.org/near => ../near
replace (
	github.com/spf13/cobra => github.com/fork/cobra v1.0.0
)
"""
REQUIREMENTS = """
# comment
-r more.txt
--no-binary :all:
-e .
-e git+https://me:secret@example.org/far.git#egg=far
click>=8.2 \\
    --hash=sha256:0123
rich==13.0  # pinned
tomli>=2 ; python_version < "3.11"
./near
near.whl
https://me:secret@example.org/x.whl
private @ https://me:secret@example.org/private.whl
bare
"""
POM = """<?xml version="1.0"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <!-- <description>Not this one.</description> -->
  <parent><artifactId>above</artifactId></parent>
  <artifactId>tool</artifactId>
  <description>Reads things.</description>
  <dependencies>
    <dependency><artifactId>gson</artifactId><version>2.11</version></dependency>
    <dependency><artifactId>okio</artifactId><version>${okio.version}</version></dependency>
    <dependency><artifactId>junit</artifactId><version>5</version><scope>test</scope></dependency>
    <dependency><artifactId>maybe</artifactId><optional>true</optional></dependency>
  </dependencies>
</project>
"""
COMPOSER = """{
  "name": "someone/tool", "description": "Reads things.",
  "require": {"php": ">=8.1", "ext-json": "*", "psr/log": "^3.0", "someone/far": "dev-main"},
  "require-dev": {"phpunit/phpunit": "^11"},
  "repositories": [{"type": "vcs", "url": "https://me:secret@example.org/far.git"}]
}
"""
PARSED = {
    "pom.xml": (POM, ProjectManifest("tool", "Reads things.", ("gson 2.11", "okio"))),
    "composer.json": (
        COMPOSER,
        ProjectManifest("someone/tool", "Reads things.", ("psr/log ^3.0", "someone/far dev-main")),
    ),
    "pyproject.toml": (
        PYPROJECT,
        ProjectManifest(
            "tool", "Reads things.", ("click >=8.2", "Mcp >=2.3,<3", "uvicorn >=0.1", "tomli >=2", "private")
        ),
    ),
    "setup.cfg": (SETUP_CFG, ProjectManifest("tool", "Reads things.", ("click >=8.2", "rich"))),
    "package.json": (
        PACKAGE_JSON,
        ProjectManifest(
            "@scope/tool",
            "Reads things.",
            ("react ^18.2.0", "any", "range >=1 <2 || ^3", "far", "hub", "@real/name ^1.0", "shared", "vue ^3"),
        ),
    ),
    "Cargo.toml": (CARGO, ProjectManifest("tool", "", ("serde 1.0", "tokio 1", "far", "real 2", "libc 0.2"))),
    "go.mod": (
        GO_MOD,
        ProjectManifest(
            "tool",
            "",
            ("github.com/spf13/cobra v1.8.0", "github.com/gin-gonic/gin v1.9.1"),
            "github.com/someone/tool/v2",
        ),
    ),
    "requirements.txt": (
        REQUIREMENTS,
        ProjectManifest(dependencies=("far", "click >=8.2", "rich ==13.0", "tomli >=2", "private", "bare")),
    ),
    "*.gemspec": (
        'Gem::Specification.new do |s|\n  s.name = "tool"\n  s.summary = "Reads &amp; writes."\nend\n',
        ProjectManifest(description="Reads & writes."),
    ),
    "*.podspec": (
        "Pod::Spec.new do |s|\n  s.summary = 'Reads things.'\nend\n",
        ProjectManifest(description="Reads things."),
    ),
    "*.csproj": (
        "<Project><PropertyGroup><Description>Reads things.</Description></PropertyGroup></Project>\n",
        ProjectManifest(description="Reads things."),
    ),
    "build.gradle": ("description 'Reads things.'\n", ProjectManifest(description="Reads things.")),
    "build.gradle.kts": ('description = "Reads things."\n', ProjectManifest(description="Reads things.")),
    "build.sbt": ('  description := "Reads things.",\n', ProjectManifest(description="Reads things.")),
    "setup.py": ('setup(\n    description="Reads things.",\n)\n', ProjectManifest(description="Reads things.")),
    "CMakeLists.txt": (
        'project(tool VERSION 1.0 DESCRIPTION "Reads things.")\n',
        ProjectManifest(description="Reads things."),
    ),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_says_its_name_what_it_is_and_what_it_needs(name: str) -> None:
    text, expected = PARSED[name]
    assert read_manifest(name, text.encode()) == expected
    assert read_manifest(name, text.replace("\n", "\r\n").encode("utf-8-sig")) == expected


@pytest.mark.parametrize("name", MANIFESTS)
def test_an_address_and_its_password_are_never_repeated(name: str) -> None:
    text = str(read_manifest(name, PARSED[name][0].encode()))
    assert "secret" not in text
    assert "://" not in text


def test_poetry_is_read_where_the_standard_tables_are_not() -> None:
    assert read_manifest("pyproject.toml", POETRY.encode()) == ProjectManifest(
        "tool", "Reads things.", ("click ^8.2", "rich >=13", "any", "far", "split ^1")
    )


def test_a_pom_with_a_document_type_says_nothing() -> None:
    bomb = (
        b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;">]><project><description>&b;</description></project>'
    )
    assert read_manifest("pom.xml", bomb) == ProjectManifest()
    assert read_manifest("pom.xml", b"<project><description>") == ProjectManifest()


def test_a_crate_inherits_versions_and_no_description() -> None:
    """The workspace's description is about the workspace."""
    member = read_manifest("Cargo.toml", CARGO.encode(), WORKSPACE)
    assert member.description == ""
    assert "anyhow 1.0.80" in member.dependencies
    assert "member" not in member.dependencies
    assert read_manifest("Cargo.toml", WORKSPACE).dependencies == ("anyhow 1.0.80",)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[project]\nname = 1\ndynamic = ['description']\ndependencies = 'x'"),
        ("pyproject.toml", "[project]\ndescription = 'Add your description here'"),
        ("pyproject.toml", "project = 1\ntool = []"),
        ("pyproject.toml", "[project"),
        ("pyproject.toml", "a = " + "[" * 100_000),
        ("setup.cfg", "[metadata]\nname = attr: tool.name\ndescription = file: README.md\n"),
        ("package.json", "[]"),
        ("package.json", '{"dependencies": ["x"], "name": {}}'),
        ("package.json", "[" * 100_000),
        ("Cargo.toml", "[package]\nname = { workspace = true }\ndescription.workspace = true"),
        ("go.mod", "require (\nx\n"),
        ("requirements.txt", "\n#\n-\n@\n;\n"),
        ("build.gradle", "name = 'x'"),
    ],
)
def test_what_cannot_be_read_says_nothing(name: str, text: str) -> None:
    assert read_manifest(name, text.encode()) == ProjectManifest()


def test_a_manifest_that_is_too_large_is_not_read() -> None:
    data = b'{"name": "tool"}'
    assert read_manifest("package.json", data.ljust(limits.DRAFTED_FILE_BYTES)).name == "tool"
    assert read_manifest("package.json", data.ljust(limits.DRAFTED_FILE_BYTES + 1)) == ProjectManifest()


@pytest.mark.parametrize(
    ("names", "manager"),
    [
        (["README.md", "uv.lock", "pyproject.toml"], "uv"),
        (["package.json", "pnpm-lock.yaml"], "pnpm"),
        (["requirements.txt", "poetry.lock"], "poetry"),
        (["requirements.txt"], "pip"),
        (["package.json", "Cargo.toml", "pyproject.toml"], ""),
        ([], ""),
    ],
)
def test_the_lock_file_tells_the_package_manager(names: list[str], manager: str) -> None:
    assert package_manager(names) == manager


@pytest.mark.parametrize("lock", PACKAGE_MANAGERS)
def test_every_lock_file_speaks_for_one_package_manager(lock: str) -> None:
    assert package_manager({lock, "README.md"}) == PACKAGE_MANAGERS[lock]


@pytest.mark.parametrize(
    ("dependencies", "name"),
    [
        (["Django >=5"], "django"),
        (["starlette", "fastapi >=0.1"], "fastapi"),
        (["react ^18", "next ^14", "express ^4"], "next"),
        (["vue ^3", "nuxt"], "nuxt"),
        (["@nestjs/core ^10", "express"], "nestjs"),
        (["@angular/core ^17"], "angular"),
        (["github.com/labstack/echo/v4 v4.1.0"], "echo"),
        (["actix-web 4", "serde 1"], "actix-web"),
        (["flask", "django"], ""),
        (["react-dom", "djangorestframework", "flask-cors"], ""),
        ([], ""),
    ],
)
def test_the_one_framework_is_the_one_built_on_the_others(dependencies: list[str], name: str) -> None:
    assert framework(dependencies) == name


PIECES = (
    "[project] [package] [options] [metadata] name description dependencies install_requires require module ( ) = : "
    "{ } [ ] \" ' , a b >=1 ; @ :// # -e \\ 1 true //"
)
texts = st.lists(st.sampled_from([*PIECES.split(), " ", "\n", "\n "]), max_size=25).map("".join)


@settings(max_examples=150)
@given(st.sampled_from([*MANIFESTS]), st.one_of(st.binary(max_size=60), texts.map(str.encode)))
def test_no_manifest_raises_and_every_dependency_is_one_short_line(name: str, data: bytes) -> None:
    found = read_manifest(name, data)
    for line in (found.name, found.description, *found.dependencies):
        assert len(line) <= 500
        assert len(line.splitlines()) <= 1
    assert len({dependency.partition(" ")[0].lower() for dependency in found.dependencies}) == len(found.dependencies)


@pytest.mark.parametrize(
    ("name", "piece"),
    [
        *(("Cargo.toml", "a."), ("setup.cfg", "a "), ("requirements.txt", "a[")),
        *(("*.gemspec", "\n"), ("*.gemspec", "a."), ("CMakeLists.txt", "DESCRIPTION "), ("*.csproj", "<Description>")),
    ],
)
def test_hostile_manifests_cost_no_more_than_their_length(name: str, piece: str) -> None:
    data = (piece * limits.DRAFTED_FILE_BYTES)[: limits.DRAFTED_FILE_BYTES].encode()
    began = time.process_time()
    read_manifest(name, data)
    # What is quadratic takes minutes.
    assert time.process_time() - began < 5
