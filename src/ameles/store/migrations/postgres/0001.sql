-- Version 1 in Postgres: the tables of ../0001.sql, with what a database with many users needs.
-- Times are microseconds since 1970, UTC; losses and guarantees are JSON with exact fractions.
-- What is secret: stream.salt, position, pending, state.snapshot, seen.

CREATE TABLE meta (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE population (
    number BIGINT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    cap TEXT NOT NULL,             -- at the opening; renewals add to it
    unit TEXT NOT NULL,
    neighbours TEXT NOT NULL,
    "window" TEXT,                 -- of a user, as a length of time: steps of two streams differ
    contributions BIGINT,
    opened BIGINT NOT NULL
);

CREATE TABLE renewal (
    population BIGINT NOT NULL REFERENCES population (number),
    number BIGINT NOT NULL,
    at BIGINT NOT NULL,
    why TEXT NOT NULL,
    added TEXT NOT NULL,
    PRIMARY KEY (population, number)
);

CREATE TABLE entry (
    population BIGINT NOT NULL REFERENCES population (number),
    number BIGINT NOT NULL,
    at BIGINT NOT NULL,
    "on" TEXT NOT NULL,
    why TEXT NOT NULL,
    "by" TEXT NOT NULL,
    asked TEXT NOT NULL,
    paid TEXT NOT NULL,
    recipe TEXT NOT NULL,
    guarantee TEXT NOT NULL,
    run TEXT NOT NULL UNIQUE,
    PRIMARY KEY (population, number)
);

CREATE TABLE stream (
    number BIGINT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    population BIGINT NOT NULL REFERENCES population (number),
    plan TEXT NOT NULL,
    identity TEXT NOT NULL UNIQUE,
    salt BYTEA NOT NULL,
    launched BIGINT NOT NULL,
    released BIGINT NOT NULL DEFAULT 0,
    scheduled BIGINT NOT NULL DEFAULT 0,
    CHECK (0 <= released AND released <= scheduled)
);

-- What changes with every step has tables of its own, so that a step rewrites little.
CREATE TABLE position (
    stream BIGINT NOT NULL PRIMARY KEY REFERENCES stream (number),
    position TEXT NOT NULL
);

CREATE TABLE pending (
    stream BIGINT NOT NULL PRIMARY KEY REFERENCES stream (number),
    secret BYTEA NOT NULL
);

CREATE TABLE state (
    stream BIGINT NOT NULL REFERENCES stream (number),
    release TEXT NOT NULL,
    entry BIGINT NOT NULL,
    mechanism TEXT NOT NULL,
    recipe TEXT NOT NULL,
    snapshot BYTEA NOT NULL,
    history BYTEA NOT NULL,
    PRIMARY KEY (stream, release)
);

CREATE TABLE seen (
    stream BIGINT NOT NULL,
    "window" BIGINT NOT NULL,
    "user" BYTEA NOT NULL,         -- 16 bytes of a keyed hash
    steps BIGINT NOT NULL,
    marks BIGINT NOT NULL,
    PRIMARY KEY (stream, "window", "user")
);

CREATE TABLE series (
    stream BIGINT NOT NULL REFERENCES stream (number),
    number BIGINT NOT NULL,
    release TEXT NOT NULL,
    "key" TEXT NOT NULL,
    mechanism TEXT NOT NULL,
    entry BIGINT NOT NULL,
    PRIMARY KEY (stream, number),
    UNIQUE (stream, release, "key")
);

CREATE TABLE step (
    stream BIGINT NOT NULL REFERENCES stream (number),
    step BIGINT NOT NULL,
    start_us BIGINT NOT NULL,
    end_us BIGINT NOT NULL,
    PRIMARY KEY (stream, step)
);

-- One value per stream, step and series, for ever.  A number is an integer or a real one, exactly
-- as it was published: no type of Postgres is both.
CREATE TABLE release (
    stream BIGINT NOT NULL,
    step BIGINT NOT NULL,
    series BIGINT NOT NULL,
    value BIGINT,
    value_real DOUBLE PRECISION,
    low BIGINT,
    low_real DOUBLE PRECISION,
    high BIGINT,
    high_real DOUBLE PRECISION,
    label TEXT NOT NULL,
    PRIMARY KEY (stream, step, series)
);

-- Announced intrusions of pan-private streams: what was seen, and when.
CREATE TABLE intrusion (
    stream BIGINT NOT NULL REFERENCES stream (number),
    number BIGINT NOT NULL,
    at BIGINT NOT NULL,
    why TEXT NOT NULL,
    PRIMARY KEY (stream, number)
);

CREATE TABLE sent (
    stream BIGINT NOT NULL REFERENCES stream (number),
    sink TEXT NOT NULL,
    step BIGINT NOT NULL,
    PRIMARY KEY (stream, sink)
);

-- The public record, for Grafana and people.  Hours and the rest of them are multiplied apart,
-- because an interval is multiplied as a float: this way no microsecond is lost.
CREATE VIEW releases AS
SELECT
    stream.name AS stream,
    series.release AS release,
    series."key" AS "key",
    step.step AS step,
    TIMESTAMPTZ 'epoch' + (step.start_us / 3600000000) * INTERVAL '1 hour'
        + (step.start_us % 3600000000) * INTERVAL '1 microsecond' AS start,
    TIMESTAMPTZ 'epoch' + (step.end_us / 3600000000) * INTERVAL '1 hour'
        + (step.end_us % 3600000000) * INTERVAL '1 microsecond' AS "end",
    coalesce(release.value::DOUBLE PRECISION, release.value_real) AS value,
    coalesce(release.low::DOUBLE PRECISION, release.low_real) AS low,
    coalesce(release.high::DOUBLE PRECISION, release.high_real) AS high,
    release.label AS label,
    series.mechanism AS mechanism,
    series.entry AS entry
FROM release
JOIN stream ON stream.number = release.stream
JOIN step ON step.stream = release.stream AND step.step = release.step
JOIN series ON series.stream = release.stream AND series.number = release.series;

-- What was spent and what was published is never changed and never removed.
CREATE FUNCTION permanent() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% permanent', TG_ARGV[0] USING ERRCODE = 'restrict_violation';
END;
$$;

CREATE TRIGGER entry_stays BEFORE UPDATE OR DELETE ON entry
FOR EACH ROW EXECUTE FUNCTION permanent('entries are');
CREATE TRIGGER entry_remains BEFORE TRUNCATE ON entry
FOR EACH STATEMENT EXECUTE FUNCTION permanent('entries are');
CREATE TRIGGER renewal_stays BEFORE UPDATE OR DELETE ON renewal
FOR EACH ROW EXECUTE FUNCTION permanent('renewals are');
CREATE TRIGGER renewal_remains BEFORE TRUNCATE ON renewal
FOR EACH STATEMENT EXECUTE FUNCTION permanent('renewals are');
CREATE TRIGGER release_stays BEFORE UPDATE OR DELETE ON release
FOR EACH ROW EXECUTE FUNCTION permanent('releases are');
CREATE TRIGGER release_remains BEFORE TRUNCATE ON release
FOR EACH STATEMENT EXECUTE FUNCTION permanent('releases are');
CREATE TRIGGER mark_stays BEFORE UPDATE OR DELETE ON meta
FOR EACH ROW WHEN (old.name = 'noise') EXECUTE FUNCTION permanent('the mark is');
CREATE TRIGGER mark_remains BEFORE TRUNCATE ON meta
FOR EACH STATEMENT EXECUTE FUNCTION permanent('the mark is');
