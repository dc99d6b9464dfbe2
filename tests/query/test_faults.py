"""What must hold whatever happens: no value leaves, and nobody waits for a question."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ameles.core.exceptions import AmelesError
from ameles.core.guarantee import EVENT, USER
from ameles.core.loss import Approx, Pure
from ameles.query import Table, open_account
from ameles.query.look import looking
from ameles.store import open_store
from tests.query.tables import table
from tests.store.places import Place

CANARY = "CANARY8675309"
ENDS: dict[str, dict[str, Any]] = {
    "noisy_count": {},
    "noisy_sum": {"column": "age", "lower": 0, "upper": 100},
    "noisy_average": {"column": "age", "lower": 0, "upper": 100},
    "noisy_variance": {"column": "age", "lower": 0, "upper": 100},
    "noisy_median": {"column": "age", "lower": 0, "upper": 100},
    "histogram": {"column": "region", "categories": ["north"], "other": True},
    "quantile": {"column": "age", "q": 0.5, "edges": [0, 50, 100]},
    "distinct_users": {},
    "top_k": {"k": 1, "by": {"region": ["north"]}},
    "most_common": {"column": "region", "keys": ["north", "south"]},
    "private_keys": {"column": "region", "delta": "1e-9"},
    "above_threshold": {"conditions": ["age > 3"], "threshold": 3},
    "k_means": {"bounds": {"age": (0, 100)}, "clusters": 2},
}


def test_no_value_of_a_row_leaves(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    file = tmp_path / "visits.csv"
    file.write_text(f"id,age,region\n{CANARY},31,{CANARY}\n{CANARY},{CANARY},north\n")
    (tmp_path / "store").mkdir()
    url = str(tmp_path / "store" / "people.db")
    shown: list[str] = []
    with open_account(url, "people", unit=USER, cap=Approx(1000, "1e-3")) as account:
        visits = Table.from_file(
            file,
            columns={"id": "text", "age": "integer", "region": "text"},
            account=account,
            unit="user",
            user="id",
            max_rows=2,
        )
        for end, given in ENDS.items():
            answer = getattr(visits, end)(epsilon=1, **given)
            shown += [str(answer), repr(answer), answer.to_json(), answer._repr_html_()]
            shown.append(visits.explain(end, epsilon=1, **given))
        shown += [repr(visits), repr(account), str(visits.columns)]
        file.write_text(f"id,{CANARY}\n{CANARY},31\n")  # now a column is missing
        with pytest.raises(AmelesError) as refused:
            visits.noisy_sum("age", lower=0, upper=1, epsilon=1)
        shown.append(str(refused.value.why))
        kept = [one.read_bytes() for one in Path(url).parent.iterdir()]
    assert kept
    assert not any(CANARY.encode() in content for content in kept)
    assert not any(CANARY in text for text in (*shown, caplog.text))


def test_others_write_while_an_answer_is_computed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrote = []

    @contextmanager
    def meanwhile(relation: Any) -> Iterator[Any]:
        # a followed stream commits a step just now
        with open_store(place.url, patience=60) as store, store.writing() as transaction:
            transaction.open_budget("people", "a step", cap=Pure("0.1"))
            wrote.append(True)
        with looking(relation) as look:
            yield look

    monkeypatch.setattr("ameles.query.query.looking", meanwhile)
    with open_account(place.url, "people", unit=EVENT, cap=Pure(1)) as account:
        assert table(account=account).noisy_count(epsilon="0.1").entry == 1
    assert wrote == [True]
