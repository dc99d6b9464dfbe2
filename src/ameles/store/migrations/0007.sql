-- Version 7.  Sources that may lose records before they are read.

CREATE TABLE gap (
    stream INTEGER NOT NULL REFERENCES stream (number),
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    place TEXT NOT NULL,           -- what lost them, such as a partition of a topic
    why TEXT NOT NULL,             -- as its owner said
    PRIMARY KEY (stream, number)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER gap_stays BEFORE UPDATE ON gap
BEGIN SELECT RAISE(ABORT, 'gaps are permanent'); END;
CREATE TRIGGER gap_remains BEFORE DELETE ON gap
BEGIN SELECT RAISE(ABORT, 'gaps are permanent'); END;
