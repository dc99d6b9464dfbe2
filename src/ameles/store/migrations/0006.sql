-- Version 6.  What a service needs: tokens, batches of events and their steps, texts for readers;
-- and streams that were retired.

CREATE TABLE token (
    number INTEGER NOT NULL PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,   -- SHA-256 of the token, which is stored nowhere
    name TEXT NOT NULL UNIQUE,
    stream TEXT NOT NULL,          -- its name: a token may be made before its stream is launched
    scope TEXT NOT NULL CHECK (scope IN ('ingest', 'read', 'admin')),
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    revoked INTEGER                -- NULL while it is valid
) STRICT;

CREATE TRIGGER token_stays BEFORE UPDATE ON token
WHEN old.revoked IS NOT NULL OR new.revoked IS NULL OR new.number <> old.number
    OR new.digest <> old.digest OR new.name <> old.name OR new.stream <> old.stream
    OR new.scope <> old.scope OR new.created <> old.created OR new.expires <> old.expires
BEGIN SELECT RAISE(ABORT, 'tokens are permanent'); END;
CREATE TRIGGER token_remains BEFORE DELETE ON token
BEGIN SELECT RAISE(ABORT, 'tokens are permanent'); END;

-- Secret: it tells which batches of events came.  A step's rows go when it is released.
CREATE TABLE batch (
    stream INTEGER NOT NULL REFERENCES stream (number),
    step INTEGER NOT NULL,
    digest BLOB NOT NULL,          -- of the token and of the id that its holder gave the batch
    PRIMARY KEY (stream, step, digest)
) STRICT, WITHOUT ROWID;

-- Where the next batch goes: batches never go back to an earlier step.
CREATE TABLE intake (
    stream INTEGER NOT NULL PRIMARY KEY REFERENCES stream (number),
    open INTEGER NOT NULL,        -- the earliest step that batches may still name
    last INTEGER NOT NULL         -- the number of the last batch
) STRICT;

-- Secret: batches that were acknowledged and may not be counted yet, in the order of arrival.
CREATE TABLE arrived (
    stream INTEGER NOT NULL REFERENCES stream (number),
    number INTEGER NOT NULL,
    step INTEGER NOT NULL,        -- in which it arrived
    form TEXT NOT NULL,            -- how its lines are written
    lines BLOB NOT NULL,
    PRIMARY KEY (stream, number)
) STRICT;

CREATE TABLE description (
    stream INTEGER NOT NULL REFERENCES stream (number),
    topic TEXT NOT NULL,
    content TEXT NOT NULL,         -- JSON
    PRIMARY KEY (stream, topic)
) STRICT, WITHOUT ROWID;

CREATE TABLE retirement (
    stream INTEGER NOT NULL PRIMARY KEY REFERENCES stream (number),
    at INTEGER NOT NULL,
    why TEXT NOT NULL
) STRICT;

CREATE TRIGGER retirement_stays BEFORE UPDATE ON retirement
BEGIN SELECT RAISE(ABORT, 'retirements are permanent'); END;
CREATE TRIGGER retirement_remains BEFORE DELETE ON retirement
BEGIN SELECT RAISE(ABORT, 'retirements are permanent'); END;
