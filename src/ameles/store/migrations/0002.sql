-- Version 2.  Epochs of pan-private streams: each begins with fresh noise after the state before it
-- was lost.  The first begins with the launch and has no row.

CREATE TABLE epoch (
    stream INTEGER NOT NULL REFERENCES stream (number),
    number INTEGER NOT NULL,       -- from 2
    released INTEGER NOT NULL,     -- the last step that was released before it
    at INTEGER NOT NULL,
    why TEXT NOT NULL,
    base BLOB NOT NULL,            -- what its counts go on from, as it was released
    begun INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (stream, number)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER epoch_remains BEFORE DELETE ON epoch
BEGIN SELECT RAISE(ABORT, 'epochs are permanent'); END;
