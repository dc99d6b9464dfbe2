-- Version 6.  What a service needs: tokens, batches of events and their steps, texts for readers;
-- and streams that were retired.

CREATE TABLE token (
    number BIGINT NOT NULL PRIMARY KEY,
    digest BYTEA NOT NULL UNIQUE,  -- SHA-256 of the token, which is stored nowhere
    name TEXT NOT NULL UNIQUE,
    stream TEXT NOT NULL,          -- its name: a token may be made before its stream is launched
    scope TEXT NOT NULL CHECK (scope IN ('ingest', 'read', 'admin')),
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    revoked BIGINT                 -- NULL while it is valid
);

CREATE TRIGGER token_stays BEFORE UPDATE ON token
FOR EACH ROW WHEN (
    old.revoked IS NOT NULL OR new.revoked IS NULL OR new.number <> old.number
    OR new.digest <> old.digest OR new.name <> old.name OR new.stream <> old.stream
    OR new.scope <> old.scope OR new.created <> old.created OR new.expires <> old.expires
) EXECUTE FUNCTION permanent('tokens are');
CREATE TRIGGER token_deleted BEFORE DELETE ON token
FOR EACH ROW EXECUTE FUNCTION permanent('tokens are');
CREATE TRIGGER token_remains BEFORE TRUNCATE ON token
FOR EACH STATEMENT EXECUTE FUNCTION permanent('tokens are');

-- Secret: it tells which batches of events came.  A step's rows go when it is released.
CREATE TABLE batch (
    stream BIGINT NOT NULL REFERENCES stream (number),
    step BIGINT NOT NULL,
    digest BYTEA NOT NULL,         -- of the token and of the id that its holder gave the batch
    PRIMARY KEY (stream, step, digest)
);

-- Where the next batch goes: batches never go back to an earlier step.
CREATE TABLE intake (
    stream BIGINT NOT NULL PRIMARY KEY REFERENCES stream (number),
    open BIGINT NOT NULL,         -- the earliest step that batches may still name
    last BIGINT NOT NULL          -- the number of the last batch
);

-- Secret: batches that were acknowledged and may not be counted yet, in the order of arrival.
CREATE TABLE arrived (
    stream BIGINT NOT NULL REFERENCES stream (number),
    number BIGINT NOT NULL,
    step BIGINT NOT NULL,         -- in which it arrived
    form TEXT NOT NULL,            -- how its lines are written
    lines BYTEA NOT NULL,
    PRIMARY KEY (stream, number)
);

CREATE TABLE description (
    stream BIGINT NOT NULL REFERENCES stream (number),
    topic TEXT NOT NULL,
    content TEXT NOT NULL,         -- JSON
    PRIMARY KEY (stream, topic)
);

CREATE TABLE retirement (
    stream BIGINT NOT NULL PRIMARY KEY REFERENCES stream (number),
    at BIGINT NOT NULL,
    why TEXT NOT NULL
);

CREATE TRIGGER retirement_stays BEFORE UPDATE OR DELETE ON retirement
FOR EACH ROW EXECUTE FUNCTION permanent('retirements are');
CREATE TRIGGER retirement_remains BEFORE TRUNCATE ON retirement
FOR EACH STATEMENT EXECUTE FUNCTION permanent('retirements are');
