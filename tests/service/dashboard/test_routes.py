"""The files of the page: the same for everybody, strict about what they load, and cached."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from ameles.service.dashboard.files import FOLDER, PLACE, Files
from ameles.service.dashboard.module_bundle import bundle
from tests.service.small_service import Small

PAGES = ["/", "/preview", "/streams/open", "/embed/open"]
FILES = Files()
BUNDLES = {"main.js", "embed.js"}
ADDRESSES = {f"/static/{FILES.version}/{name}" for name in FILES.loaded}


def directives(policy: str) -> dict[str, str]:
    parts = (part.strip().partition(" ") for part in policy.split(";"))
    return {name: value for name, _, value in parts}


@pytest.mark.parametrize("path", PAGES)
def test_a_page_loads_files_of_this_service_and_nothing_else(service: Small, path: str) -> None:
    answer = service.client.get(path)
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    embedded = path.startswith("/embed")
    assert directives(answer.headers["content-security-policy"]) == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "connect-src": "'self'",
        "img-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
        "frame-ancestors": "*" if embedded else "'none'",
    }
    expected = "cross-origin" if embedded else "same-origin"
    assert answer.headers["cross-origin-resource-policy"] == expected
    loaded = re.findall(rb'(?:src|href)="(/static/[^"]*)"', answer.body)
    assert len(loaded) >= 4
    assert {address.decode() for address in loaded} <= ADDRESSES


@pytest.mark.parametrize("page", ["/streams/{}", "/embed/{}"])
def test_a_page_does_not_say_which_streams_there_are(service: Small, page: str) -> None:
    names = ("open", "closed", "absent", "%00", "é", "x" * 3000)
    tokens = (None, service.token("read"), "ameles_wrong")
    answers = [service.client.get(page.format(name), token) for name in names for token in tokens]
    assert {answer.status for answer in answers} == {200}
    assert len({answer.body for answer in answers}) == 1
    assert len({str(sorted(answer.headers.items())) for answer in answers}) == 1


@pytest.mark.parametrize(("page", "own"), [("index", ["panels"]), ("embed", [])])
def test_a_page_has_one_style_sheet_with_all_of_its_rules(page: str, own: list[str]) -> None:
    """Each request takes longer than what is in it."""
    html = FILES.pages[f"{page}.html"].content.decode()
    (sheet,) = re.findall(r'rel="stylesheet" href="/static/[^/]+/([^"]+)"', html)
    names = ["vendor/uplot/uPlot.min", "style", "charts", *own]
    rules = [(FOLDER / f"{name}.css").read_text(encoding="utf-8") for name in names]
    assert FILES.loaded[sheet].content.decode() == "\n".join(rules)


def test_every_file_is_served_with_its_type_and_kept_for_ever(service: Small) -> None:
    for name, file in FILES.loaded.items():
        answer = service.client.get(f"/static/{FILES.version}/{name}")
        joined = name in BUNDLES or name in ("index.css", "embed.css")
        source = file.content if joined else (FOLDER / name).read_bytes()
        assert (answer.status, answer.body) == (200, source), name
        assert answer.headers["content-type"] == file.media
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert {Path(name).suffix for name in FILES.loaded} == {".css", ".js", ".svg"}


@pytest.mark.parametrize("path", ["/", "/embed/open", f"/static/{FILES.version}/main.js"])
def test_what_a_browser_has_is_not_sent_again(service: Small, path: str) -> None:
    for encoding in ("", "gzip, br"):
        asked = {"Accept-Encoding": encoding}
        first = service.client.get(path, headers=asked)
        assert first.headers["vary"] == "Accept-Encoding"
        known = {**asked, "If-None-Match": first.headers["etag"]}
        again = service.client.get(path, headers=known)
        assert (again.status, again.body) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]
        other = service.client.get(path, headers={**known, "If-None-Match": '"other"'})
        assert (other.status, other.body) == (200, first.body)
    assert service.client.get("/").headers["cache-control"] == "no-cache"


def test_a_file_comes_compressed_to_those_who_take_it_so(service: Small) -> None:
    path = f"/static/{FILES.version}/main.js"
    plain = service.client.get(path)
    packed = service.client.get(path, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert "content-encoding" not in plain.headers
    assert packed.headers["etag"] != plain.headers["etag"]


@pytest.mark.parametrize(
    "path",
    [
        "/static/0000000000000000/main.js",
        f"/static/{FILES.version}/index.html",
        f"/static/{FILES.version}/vendor/vendor.toml",
        f"/static/{FILES.version}/vendor/uplot/LICENSE",
        f"/static/{FILES.version}/../files.py",
        f"/static/{FILES.version}//etc/passwd",
        f"/static/{FILES.version}/",
        "/static/main.js",
        "/streams/",
        "/embed",
    ],
)
def test_there_is_nothing_else(service: Small, path: str) -> None:
    assert service.client.get(path).status == 404


def test_a_page_loads_its_modules_as_one(service: Small) -> None:
    page = service.client.get("/").body.decode()
    assert re.findall(r'src="/static/\w+/([^"]+)" type="module"', page) == ["main.js"]
    whole = FILES.loaded["main.js"].content.decode()
    assert not re.search(r"^(import|export)\b", whole, re.MULTILINE)
    own = {name for name in FILES.loaded if "/" not in name and name.endswith(".js")}
    for name in own - {"embed.js"}:
        first, *_ = (FOLDER / name).read_text(encoding="utf-8").splitlines()
        assert whole.count(first) == 1, name


def test_the_address_of_files_changes_with_any_of_them(tmp_path: Path) -> None:
    def version(script: bytes) -> str:
        for name in ("index.html", "embed.html"):
            (tmp_path / name).write_bytes(b'<script src="' + PLACE + b'a.js"></script>')
        (tmp_path / "a.js").write_bytes(script)
        files = Files(tmp_path)
        source = f'<script src="/static/{files.version}/a.js"></script>'.encode()
        assert files.pages["index.html"].content == source
        return files.version

    assert version(b"1") == version(b"1") != version(b"2")


def test_modules_in_other_forms_and_in_a_circle_are_refused() -> None:
    for other in (
        'import b from "./b.js";',
        'import "./b.js";',
        "export default 1;",
        "export { a };",
    ):
        with pytest.raises(ValueError, match=r"a\.js imports or exports in a form"):
            bundle("a.js", {"a.js": f"{other}\n", "b.js": ""})
    circle = {"a.js": 'import { b } from "./b.js";\n', "b.js": 'import { a } from "./a.js";\n'}
    with pytest.raises(ValueError, match=r"a\.js, b\.js, a\.js import each other"):
        bundle("a.js", circle)


def test_a_module_stands_once_and_after_those_that_it_imports() -> None:
    both = 'import {\n  b,\n  d as e,\n} from "./b.js";\nimport { c } from "./c.js";\n'
    made = bundle(
        "a.js",
        {
            "a.js": both + 'import("./x.js");\n',
            "b.js": 'import { c } from "./c.js";\nexport class b {}\nexport const d = 1;\n',
            "c.js": "export async function c() {}\n",
        },
    )
    places = [made.index(text) for text in ("function c", "class b", 'import("./x.js")')]
    assert places == sorted(places)
    assert made.count("async function c") == 1
    assert "return { b, d };" in made
    assert "const {\n  b,\n  d: e,\n} = m1;" in made
