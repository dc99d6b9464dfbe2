-- Version 1.  Times are microseconds since 1970, UTC; losses and guarantees are JSON with exact
-- fractions.  What is secret: stream.salt, position, pending, state.snapshot, seen.
--
-- Words of SQLite that another database spells otherwise: STRICT, WITHOUT ROWID, ANY, BLOB, and
-- the view and the triggers at the end.

CREATE TABLE meta (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE population (
    number INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    cap TEXT NOT NULL,             -- at the opening; renewals add to it
    unit TEXT NOT NULL,
    neighbours TEXT NOT NULL,
    "window" TEXT,                 -- of a user, as a length of time: steps of two streams differ
    contributions INTEGER,
    opened INTEGER NOT NULL
) STRICT;

CREATE TABLE renewal (
    population INTEGER NOT NULL REFERENCES population (number),
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    why TEXT NOT NULL,
    added TEXT NOT NULL,
    PRIMARY KEY (population, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE entry (
    population INTEGER NOT NULL REFERENCES population (number),
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    "on" TEXT NOT NULL,
    why TEXT NOT NULL,
    "by" TEXT NOT NULL,
    asked TEXT NOT NULL,
    paid TEXT NOT NULL,
    recipe TEXT NOT NULL,
    guarantee TEXT NOT NULL,
    run TEXT NOT NULL UNIQUE,
    PRIMARY KEY (population, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE stream (
    number INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    population INTEGER NOT NULL REFERENCES population (number),
    plan TEXT NOT NULL,
    identity TEXT NOT NULL UNIQUE,
    salt BLOB NOT NULL,
    launched INTEGER NOT NULL,
    released INTEGER NOT NULL DEFAULT 0,
    scheduled INTEGER NOT NULL DEFAULT 0,
    CHECK (0 <= released AND released <= scheduled)
) STRICT;

-- What changes with every step has tables of its own, so that a step rewrites little.
CREATE TABLE position (
    stream INTEGER NOT NULL PRIMARY KEY REFERENCES stream (number),
    position TEXT NOT NULL
) STRICT;

CREATE TABLE pending (
    stream INTEGER NOT NULL PRIMARY KEY REFERENCES stream (number),
    secret BLOB NOT NULL
) STRICT;

CREATE TABLE state (
    stream INTEGER NOT NULL REFERENCES stream (number),
    release TEXT NOT NULL,
    entry INTEGER NOT NULL,
    mechanism TEXT NOT NULL,
    recipe TEXT NOT NULL,
    snapshot BLOB NOT NULL,
    history BLOB NOT NULL,
    PRIMARY KEY (stream, release)
) STRICT;

CREATE TABLE seen (
    stream INTEGER NOT NULL,
    "window" INTEGER NOT NULL,
    "user" BLOB NOT NULL,          -- 16 bytes of a keyed hash
    steps INTEGER NOT NULL,
    marks INTEGER NOT NULL,
    PRIMARY KEY (stream, "window", "user")
) STRICT, WITHOUT ROWID;

CREATE TABLE series (
    stream INTEGER NOT NULL REFERENCES stream (number),
    number INTEGER NOT NULL,
    release TEXT NOT NULL,
    "key" TEXT NOT NULL,
    mechanism TEXT NOT NULL,
    entry INTEGER NOT NULL,
    PRIMARY KEY (stream, number),
    UNIQUE (stream, release, "key")
) STRICT, WITHOUT ROWID;

CREATE TABLE step (
    stream INTEGER NOT NULL REFERENCES stream (number),
    step INTEGER NOT NULL,
    start_us INTEGER NOT NULL,
    end_us INTEGER NOT NULL,
    PRIMARY KEY (stream, step)
) STRICT, WITHOUT ROWID;

-- One value per stream, step and series, for ever.  In this order an insert is an append.
CREATE TABLE release (
    stream INTEGER NOT NULL,
    step INTEGER NOT NULL,
    series INTEGER NOT NULL,
    value ANY,
    low ANY,
    high ANY,
    label TEXT NOT NULL,
    PRIMARY KEY (stream, step, series)
) STRICT, WITHOUT ROWID;

-- Announced intrusions of pan-private streams: what was seen, and when.
CREATE TABLE intrusion (
    stream INTEGER NOT NULL REFERENCES stream (number),
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    why TEXT NOT NULL,
    PRIMARY KEY (stream, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE sent (
    stream INTEGER NOT NULL REFERENCES stream (number),
    sink TEXT NOT NULL,
    step INTEGER NOT NULL,
    PRIMARY KEY (stream, sink)
) STRICT, WITHOUT ROWID;

-- The public record, for Grafana and people.  SQLite joins in the order of CROSS JOINs: by itself
-- it would sometimes read all steps for each release.
CREATE VIEW releases AS
SELECT
    stream.name AS stream,
    series.release AS release,
    series."key" AS "key",
    step.step AS step,
    strftime('%Y-%m-%dT%H:%M:%S', (step.start_us - fraction_of_start) / 1000000, 'unixepoch')
        || CASE fraction_of_start WHEN 0 THEN '' ELSE printf('.%06d', fraction_of_start) END
        || 'Z' AS start,
    strftime('%Y-%m-%dT%H:%M:%S', (step.end_us - fraction_of_end) / 1000000, 'unixepoch')
        || CASE fraction_of_end WHEN 0 THEN '' ELSE printf('.%06d', fraction_of_end) END
        || 'Z' AS "end",
    release.value AS value,
    release.low AS low,
    release.high AS high,
    release.label AS label,
    series.mechanism AS mechanism,
    series.entry AS entry
FROM stream
CROSS JOIN (
    SELECT
        *,
        (start_us % 1000000 + 1000000) % 1000000 AS fraction_of_start,
        (end_us % 1000000 + 1000000) % 1000000 AS fraction_of_end
    FROM step
) AS step
CROSS JOIN series
CROSS JOIN release
WHERE step.stream = stream.number
    AND series.stream = stream.number
    AND release.stream = stream.number
    AND release.step = step.step
    AND release.series = series.number;

-- What was spent and what was published is never changed and never removed.
CREATE TRIGGER entry_stays BEFORE UPDATE ON entry
BEGIN SELECT RAISE(ABORT, 'entries are permanent'); END;
CREATE TRIGGER entry_remains BEFORE DELETE ON entry
BEGIN SELECT RAISE(ABORT, 'entries are permanent'); END;
CREATE TRIGGER renewal_stays BEFORE UPDATE ON renewal
BEGIN SELECT RAISE(ABORT, 'renewals are permanent'); END;
CREATE TRIGGER renewal_remains BEFORE DELETE ON renewal
BEGIN SELECT RAISE(ABORT, 'renewals are permanent'); END;
CREATE TRIGGER release_stays BEFORE UPDATE ON release
BEGIN SELECT RAISE(ABORT, 'releases are permanent'); END;
CREATE TRIGGER release_remains BEFORE DELETE ON release
BEGIN SELECT RAISE(ABORT, 'releases are permanent'); END;
CREATE TRIGGER mark_stays BEFORE UPDATE ON meta WHEN old.name = 'noise'
BEGIN SELECT RAISE(ABORT, 'the mark is permanent'); END;
CREATE TRIGGER mark_remains BEFORE DELETE ON meta WHEN old.name = 'noise'
BEGIN SELECT RAISE(ABORT, 'the mark is permanent'); END;
