-- Version 8.  Releases whose keys are discovered while the stream runs.

CREATE TABLE user_records (
    stream BIGINT NOT NULL REFERENCES stream (number),
    release BIGINT NOT NULL,       -- its place in the plan, from 1
    "window" BIGINT NOT NULL,
    "user" BYTEA NOT NULL,         -- 16 bytes of a keyed hash
    records BYTEA NOT NULL,        -- secret: how many records count on which keys
    PRIMARY KEY (stream, release, "window", "user")
);
