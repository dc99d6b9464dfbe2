-- Version 4.  Named budgets below a population's cap; questions that were paid for, and their
-- answers.  What is secret: answer.snapshot.

CREATE TABLE budget (
    population INTEGER NOT NULL REFERENCES population (number),
    number INTEGER NOT NULL,       -- from 1, in the order of opening
    name TEXT NOT NULL,
    parent TEXT,                   -- the name of another budget; NULL: the population itself
    cap TEXT,                      -- NULL: only the budgets above limit it
    opened INTEGER NOT NULL,
    PRIMARY KEY (population, number),
    UNIQUE (population, name),
    FOREIGN KEY (population, parent) REFERENCES budget (population, name)
) STRICT, WITHOUT ROWID;

-- A row per question that was paid for.  The answer comes later, once, and takes the place of the
-- snapshot: before that a process that has the same question may compute it again.
CREATE TABLE answer (
    population INTEGER NOT NULL,
    entry INTEGER NOT NULL,
    question TEXT NOT NULL,        -- what was asked, in canonical words
    label TEXT,                    -- the owner's public version of the data; NULL: none was given
    snapshot BLOB NOT NULL,        -- the bought run before its first step; empty once answered
    answer TEXT,
    asked INTEGER NOT NULL,
    answered INTEGER,
    PRIMARY KEY (population, entry),
    FOREIGN KEY (population, entry) REFERENCES entry (population, number),
    CHECK ((answer IS NULL) = (answered IS NULL)),
    CHECK ((answer IS NULL) = (length(snapshot) > 0))
) STRICT, WITHOUT ROWID;

CREATE TRIGGER budget_stays BEFORE UPDATE ON budget
BEGIN SELECT RAISE(ABORT, 'budgets are permanent'); END;
CREATE TRIGGER budget_remains BEFORE DELETE ON budget
BEGIN SELECT RAISE(ABORT, 'budgets are permanent'); END;
CREATE TRIGGER answer_stays BEFORE UPDATE ON answer
WHEN old.answer IS NOT NULL OR new.answer IS NULL OR new.population <> old.population
    OR new.entry <> old.entry OR new.question <> old.question OR new.label IS NOT old.label
    OR new.asked <> old.asked
BEGIN SELECT RAISE(ABORT, 'answers are permanent'); END;
CREATE TRIGGER answer_remains BEFORE DELETE ON answer
BEGIN SELECT RAISE(ABORT, 'answers are permanent'); END;
