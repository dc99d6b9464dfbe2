-- Version 2.  Epochs of pan-private streams: each begins with fresh noise after the state before it
-- was lost.  The first begins with the launch and has no row.

CREATE TABLE epoch (
    stream BIGINT NOT NULL REFERENCES stream (number),
    number BIGINT NOT NULL,        -- from 2
    released BIGINT NOT NULL,      -- the last step that was released before it
    at BIGINT NOT NULL,
    why TEXT NOT NULL,
    base BYTEA NOT NULL,           -- what its counts go on from, as it was released
    begun BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (stream, number)
);

CREATE TRIGGER epoch_stays BEFORE DELETE ON epoch
FOR EACH ROW EXECUTE FUNCTION permanent('epochs are');
CREATE TRIGGER epoch_remains BEFORE TRUNCATE ON epoch
FOR EACH STATEMENT EXECUTE FUNCTION permanent('epochs are');
