"""Buckets hold a second's worth of requests, and the longest unused are forgotten."""

from __future__ import annotations

from ameles.service.rate_limit import RateLimit


def test_the_last_whole_request_of_a_bucket_passes() -> None:
    limit = RateLimit(clock=lambda: 0.0)
    assert [limit.wait("a", 3) for _ in range(4)] == [0, 0, 0, 1 / 3]


def test_an_empty_bucket_says_how_long_until_one_more_passes() -> None:
    now = [0.0]
    limit = RateLimit(clock=lambda: now[0])
    for _ in range(4):
        limit.wait("a", 4)
    now[0] = 0.125
    assert limit.wait("a", 4) == 0.125
    now[0] = 0.25
    assert limit.wait("a", 4) == 0


def test_buckets_that_were_used_last_are_kept() -> None:
    limit = RateLimit(clock=lambda: 0.0, most=2)
    assert [limit.wait(name, 1) for name in "aba"] == [0, 0, 1], "both fit"
    assert limit.wait("c", 1) == 0, "'b' is forgotten: 'a' was used later, though refused"
    assert [limit.wait(name, 1) for name in "ac"] == [1, 1]
    assert limit.wait("b", 1) == 0
    assert len(limit._buckets) == 2
