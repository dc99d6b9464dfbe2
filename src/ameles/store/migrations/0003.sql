-- Version 3.  A stream keeps the rules of reading that it was launched with; the windows of a
-- population's users have a phase; which plans were checked against their source, and when.

ALTER TABLE stream ADD COLUMN rules INTEGER NOT NULL DEFAULT 1;

ALTER TABLE population ADD COLUMN phase TEXT;  -- of a window: where one begins, and in which zone

-- That the owner looked at the data before a launch, never what was seen.
CREATE TABLE checked (
    plan TEXT NOT NULL PRIMARY KEY,  -- the digest of what cannot change after a launch
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
