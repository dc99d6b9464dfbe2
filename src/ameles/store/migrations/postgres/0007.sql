-- Version 7.  Sources that may lose records before they are read.

CREATE TABLE gap (
    stream BIGINT NOT NULL REFERENCES stream (number),
    number BIGINT NOT NULL,
    at BIGINT NOT NULL,
    place TEXT NOT NULL,           -- what lost them, such as a partition of a topic
    why TEXT NOT NULL,             -- as its owner said
    PRIMARY KEY (stream, number)
);

CREATE TRIGGER gap_stays BEFORE UPDATE OR DELETE ON gap
FOR EACH ROW EXECUTE FUNCTION permanent('gaps are');
CREATE TRIGGER gap_remains BEFORE TRUNCATE ON gap
FOR EACH STATEMENT EXECUTE FUNCTION permanent('gaps are');
