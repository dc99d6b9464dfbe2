"""Probable mistakes in lines, each with its fix."""

from __future__ import annotations

from collections.abc import Iterator

from ameles.connectors.files.compressed import is_compressed
from ameles.connectors.text.csv_lines import BAD_QUOTES, OPEN_QUOTE, TOO_FEW, TOO_MANY, TRAILING
from ameles.connectors.text.json_lines import NO_JSON, NO_OBJECT
from ameles.connectors.text.lines import TOO_LONG, WITH_NUL
from ameles.engine.owner_check.counted_words import are, has
from ameles.engine.owner_check.facts import CheckFinding, Facts
from ameles.engine.owner_check.held_values import OR
from ameles.plan.plan import Plan

FEW = 0.01  # below this share a fault is one of the data, not of the plan


def line_findings(plan: Plan, facts: Facts) -> Iterator[CheckFinding]:
    """What is wrong with the lines of a source."""
    flaws, events = facts.lines.flaws, facts.lines.events
    if flaws[TRAILING]:
        yield _trailing(plan, facts)
    if flaws[OPEN_QUOTE]:
        yield CheckFinding(
            f"{has(flaws[OPEN_QUOTE], 'line')} a quote that is not closed, probably because a "
            "value contains a newline. A newline always ends an event here.",
            "ameles convert FILE out.parquet; then name the Parquet file as the source",
        )
    if flaws[BAD_QUOTES]:
        yield CheckFinding(
            f"{has(flaws[BAD_QUOTES], 'line')} quotes where CSV does not allow them.",
            'quote = "", if quotes are ordinary characters there',
        )
    if flaws[TOO_MANY]:
        yield CheckFinding(
            f"{has(flaws[TOO_MANY], 'line')} more fields than the first line.",
            "put quotes around values with a delimiter in them",
        )
    if flaws[TOO_FEW] > FEW * events:
        yield _too_few(plan, flaws[TOO_FEW])
    if flaws[NO_OBJECT] + flaws[NO_JSON]:
        count = flaws[NO_OBJECT] + flaws[NO_JSON]
        yield CheckFinding(f"{are(count, 'line')} not a JSON object.", "write one object a line")
    if flaws[WITH_NUL]:
        yield CheckFinding(
            f"{has(flaws[WITH_NUL], 'line')} a NUL in it.", 'encoding = "utf-16", if all lines do'
        )
    if flaws[TOO_LONG]:
        yield CheckFinding(f"{are(flaws[TOO_LONG], 'line')} longer than 1 MiB.")
    if facts.lines.replaced:
        yield _replaced(plan, facts.lines.replaced)
    for file in facts.files:
        if file.open_line and plan.stream.last_line == "wait" and not plan.stream.source_kind.live:
            yield CheckFinding(
                f"The last line of '{file.name}' has no newline. It is not read until it has one, "
                "because it may still be being written.",
                'last_line = "take"',
            )


def _trailing(plan: Plan, facts: Facts) -> CheckFinding:
    """Proposes one more column name only if every line ends with a delimiter."""
    count, broken = facts.lines.flaws[TRAILING], sum(facts.lines.flaws.values())
    if not facts.lines.events and count >= (1 - FEW) * broken:
        names = ", ".join(f'"{name}"' for name in list(plan.stream.columns)[:2])
        return CheckFinding(
            f"{has(count, 'line')} a delimiter at the end, which begins another field.",
            f'header = [{names}, ..., "nothing"], with one name more than the first line has'
            f"{OR}one more name in the first line of the file",
        )
    delimiter = plan.stream.delimiter
    written = "\\t" if delimiter == "\t" else delimiter
    written = f"\\{written}" if delimiter in "/.*^$[\\" else written
    bytewise = not plan.stream.encoding.startswith("utf-16")
    plain = bytewise and not is_compressed(plan.stream.source)
    sed = f"{OR}sed 's/{written}$//' FILE > NEW, which removes it" if plain else ""
    return CheckFinding(
        f"{has(count, 'line')} one delimiter too many at {'its' if count == 1 else 'their'} end.",
        f"fix the program that writes the file{sed}",
    )


def _too_few(plan: Plan, count: int) -> CheckFinding:
    if plan.stream.header is None:
        return CheckFinding(
            f"{has(count, 'line')} fewer fields than the first line.",
            "fix the program that writes the file: each line needs as many fields as the first",
        )
    return CheckFinding(
        f"{has(count, 'line')} fewer fields than header has names.",
        "header = [...], with as many names as the lines have fields"
        f"{OR}delimiter = ..., the character between the fields there",
    )


def _replaced(plan: Plan, count: int) -> CheckFinding:
    encoding = plan.stream.encoding
    if encoding == "utf-8":
        return CheckFinding(
            f"{has(count, 'event')} characters that are not valid UTF-8.",
            f'encoding = "windows-1252"{OR}encoding = "latin-1"',
        )
    mend = f'encoding = "latin-1"{OR}leave encoding out, if the file is in UTF-8'
    return CheckFinding(
        f"{has(count, 'event')} characters that {encoding} does not have.",
        mend if encoding == "windows-1252" else "",
    )
