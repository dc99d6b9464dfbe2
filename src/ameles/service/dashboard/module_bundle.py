"""Modules of the page as one: each in a function of its own, after those that it imports.

It knows the few forms that the page uses: names in braces are imported, and declarations exported,
all at the beginning of a line.  It refuses another form, and modules that import each other.

>>> print(bundle("a.js", {
...     "a.js": 'import { b as c } from "./b.js";\\nc();\\n',
...     "b.js": "export function b() {}\\n",
... }))
const m0 = (() => {
function b() {}
return { b };
})();
const m1 = (() => {
const { b: c } = m0;
c();
return {  };
})();
<BLANKLINE>
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([^"]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)
_OTHER = re.compile(r"^(?:import|export)\b(?! ?\()", re.MULTILINE)


def bundle(first: str, sources: Mapping[str, str]) -> str:
    """A module and all that it imports, as one script of the type module."""
    order = list[str]()
    _visit(first, sources, order, ())
    return "".join(_wrapped(name, sources[name], order) for name in order)


def _visit(name: str, sources: Mapping[str, str], order: list[str], above: tuple[str, ...]) -> None:
    """Appends a module to the order, after those that it imports."""
    if name in above:
        raise ValueError(f"The modules {', '.join((*above, name))} import each other.")
    for _, imported in _IMPORT.findall(sources[name]):
        if imported not in order:
            _visit(imported, sources, order, (*above, name))
    if name not in order:
        order.append(name)


def _wrapped(name: str, source: str, order: list[str]) -> str:
    exported = [found for _, found in _EXPORT.findall(source)]

    def imported(found: re.Match[str]) -> str:
        names = found[1].replace(" as ", ": ")
        return f"const {{{names}}} = m{order.index(found[2])};"

    body = _EXPORT.sub(r"\1", _IMPORT.sub(imported, source))
    if _OTHER.search(body):
        raise ValueError(f"The module {name} imports or exports in a form that is not known here.")
    place = order.index(name)
    return f"const m{place} = (() => {{\n{body}return {{ {', '.join(exported)} }};\n}})();\n"
