-- Version 8.  Releases whose keys are discovered while the stream runs.

CREATE TABLE user_records (
    stream INTEGER NOT NULL REFERENCES stream (number),
    release INTEGER NOT NULL,      -- its place in the plan, from 1
    "window" INTEGER NOT NULL,
    "user" BLOB NOT NULL,          -- 16 bytes of a keyed hash
    records BLOB NOT NULL,         -- secret: how many records count on which keys
    PRIMARY KEY (stream, release, "window", "user")
) STRICT, WITHOUT ROWID;
