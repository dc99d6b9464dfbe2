"""``check``: the facts about a plan's source, from where its stream has stopped reading."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from ameles.connectors.files.identity import LOOKS, ChangedMeanwhile
from ameles.connectors.files.named_files import find_files
from ameles.connectors.files.source import FileSource
from ameles.connectors.format import kind_of
from ameles.connectors.source import PassingSource
from ameles.connectors.standard_input import StandardInput
from ameles.core.exceptions import AmelesError, BadInput, PlanError, SourceUnreadable
from ameles.core.rules import CURRENT
from ameles.engine.gathering.moment import Moment, moment_at
from ameles.engine.owner_check.advice import advices
from ameles.engine.owner_check.facts import CheckFinding, Facts
from ameles.engine.owner_check.first_lines import FirstLines
from ameles.engine.owner_check.look import MEMORY, Rows, look
from ameles.engine.owner_check.source_rows import SampleRows, SourceRows
from ameles.engine.owner_check.trial import Advice, Trial
from ameles.engine.running.launch import under_its_rules
from ameles.plan.difference import difference
from ameles.plan.plan import Plan
from ameles.plan.source import plan_source
from ameles.store import Store

_NAMED = 5  # files that one finding names


def check(
    plan: Plan,
    store: Store | None,
    *,
    now: datetime,
    sample: Path | None = None,
    whole: bool = False,
    show: bool = False,
    memory: int = MEMORY,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Facts:
    """Exact, secret facts about what the next run would read.

    For a launched stream that is what it has not read yet, or the whole source with ``whole``.
    ``sample`` is a file that replaces standard input; ``show`` adds values.  ``store`` is None if
    nothing was launched yet.  If a file changes meanwhile, the check starts again, as a run does.
    """
    _check_sample(plan, sample)
    for again in reversed(range(LOOKS)):
        try:
            return _checked(
                plan,
                store,
                now=now,
                sample=sample,
                whole=whole,
                look_at=partial(look, show=show, memory=memory, progress=progress),
            )
        except ChangedMeanwhile:
            if not again:
                raise
    raise AssertionError("a look ends")


def _checked(
    plan: Plan,
    store: Store | None,
    *,
    now: datetime,
    sample: Path | None,
    whole: bool,
    look_at: Callable[[Plan, Rows, Moment], Facts],
) -> Facts:
    """One attempt at the check."""
    changed, released, position = False, 0, None
    if store is not None:
        plan = under_its_rules(plan, store)
        changed, released, position = _standing(plan, store)
    ended = released == plan.stream.horizon
    if whole or changed or ended:
        released, position = 0, None
    if changed:
        plan = replace(plan, rules=CURRENT)
    first = _first_lines(plan, sample)
    try:
        rows = _rows(plan, position, sample)
        facts = look_at(plan, rows, moment_at(plan, released, now))
    except PlanError as refusal:
        facts = Facts(plan.stream.name, plan.stream.source, unreadable=refusal.what)
        told = [*first.advices] or [Advice(refusal.what, otherwise=refusal.tip)]
    else:
        known = {one.what for one in first.advices}
        problems = [_of_file(one) for one in rows.problems if one.what not in known]
        told = [*problems, *first.advices]
        told += [
            Advice(
                f"The file '{name}' is not complete, so it waits.",
                otherwise="wait for what writes it",
                file=name,
            )
            for name in rows.incomplete
            if name not in first.empty
        ]
    facts.files = first.facts
    if changed:
        facts.findings.append(
            CheckFinding(
                "The plan has changed since its stream was launched, so a run refuses it. This "
                "check reads the whole source, as for a new stream.",
                "give the stream another name, for a new one",
            )
        )
    elif ended and not whole:
        facts.findings.append(
            CheckFinding(
                "The stream has released its last step, so a run reads nothing more. This check "
                "reads the whole source, as for a new stream."
            )
        )
    odd = {one.file for one in told} | {one.name for one in first.facts if one.open_line}
    odd |= {place.file for places in facts.lines.places.values() for place in places}
    kind = plan.stream.records if sample is None else _sample_kind(plan, sample)
    trial = Trial(plan, now, facts.released, first.opened, kind, odd)
    if not facts.unreadable:
        told += advices(plan, facts, trial, first.names, first.titles)
    facts.findings += [trial.finding(advice) for advice in _together(told)]
    return facts


def _of_file(refusal: AmelesError) -> Advice:
    """What a refusal says of a file."""
    named = re.match(r"The (?:\w+ )?file '(.+?)' ", refusal.what)
    return Advice(refusal.what, otherwise=refusal.tip, file=named[1] if named else "")


def _together(told: Iterable[Advice]) -> Iterator[Advice]:
    """The same advice once, with the names of the first files that it is about."""
    alike: dict[tuple[str, ...], list[Advice]] = {}
    for one in told:
        alike.setdefault(one.of_any_file, []).append(one)
    for first, *more in alike.values():
        files = [f"'{one.file}'" for one in more if one.file]
        if not files:
            yield first
            continue
        named = ", ".join(files[:_NAMED])
        rest = len(files) - _NAMED
        named += f" and {rest:,} more" if rest > 0 else ""
        yield replace(first, what=f"{first.what} The same is true of {named}.")


def _check_sample(plan: Plan, sample: Path | None) -> None:
    stream = plan.stream
    if not stream.source_kind.seekable and sample is None:
        raise _passes_once(plan)
    if stream.source_kind.seekable and sample is not None:
        raise BadInput(
            f"The source is '{stream.source}', but --sample is for standard input only.",
            tip="leave it out",
        )


def _passes_once(plan: Plan) -> BadInput:
    named = plan.stream.source_kind.describe(plan.stream.source)
    return BadInput(
        f"The source is {named}, which can be read once only: a check would use up its events.",
        tip="--sample FILE, with some lines like those that will come",
    )


def _standing(plan: Plan, store: Store) -> tuple[bool, int, str | None]:
    """Whether the plan changed since its launch, the released steps, and the source's position."""
    with store.reading() as transaction:
        stream = transaction.stream(plan.stream.name)
        if stream is None:
            return False, 0, None
        changed = bool(difference(stream.plan, plan.to_json()))
        return changed, stream.released, transaction.position(stream)


def _rows(plan: Plan, position: str | None, sample: Path | None) -> Rows:
    if sample is not None:
        kind = _sample_kind(plan, sample)
        return SampleRows(sample, lambda number: StandardInput(kind, plan.kinds, number, plan.form))
    source = plan_source(plan, raw=True)
    if isinstance(source, PassingSource):
        raise _passes_once(plan)
    return SourceRows(source, source.reading(position))


def _sample_kind(plan: Plan, sample: Path) -> str:
    """The format of a sample."""
    if plan.stream.source_kind.takes_format:
        return plan.stream.format
    return "csv" if kind_of(str(sample)) == "csv" else "jsonl"  # senders of batches choose it


def _first_lines(plan: Plan, sample: Path | None) -> FirstLines:
    """The beginnings of the files; raises if no file can be opened."""
    stream = plan.stream
    kind = stream.source_kind
    text, base = (stream.source, plan.base) if sample is None else (str(sample), Path())
    files = find_files(text, base) if sample is not None else kind.files(text, base)
    if not files and (sample is not None or issubclass(kind, FileSource)):
        tip = "a file beside the plan" if sample is None else "--sample FILE"
        raise SourceUnreadable(f"No file matches the source '{text}'.", tip=tip)
    copies = {copy.name for pattern in stream.rotated for copy in find_files(pattern, plan.base)}
    if sample is None:
        files = tuple(file for file in files if file.name not in copies) or files
    named = text if sample is None else None
    records = stream.records or "csv"
    return FirstLines(files, list(stream.columns), records, plan.form, source=named)
