-- Version 4.  Named budgets below a population's cap; questions that were paid for, and their
-- answers.  What is secret: answer.snapshot.

CREATE TABLE budget (
    population BIGINT NOT NULL REFERENCES population (number),
    number BIGINT NOT NULL,        -- from 1, in the order of opening
    name TEXT NOT NULL,
    parent TEXT,                   -- the name of another budget; NULL: the population itself
    cap TEXT,                      -- NULL: only the budgets above limit it
    opened BIGINT NOT NULL,
    PRIMARY KEY (population, number),
    UNIQUE (population, name),
    FOREIGN KEY (population, parent) REFERENCES budget (population, name)
);

-- A row per question that was paid for.  The answer comes later, once, and takes the place of the
-- snapshot: before that a process that has the same question may compute it again.
CREATE TABLE answer (
    population BIGINT NOT NULL,
    entry BIGINT NOT NULL,
    question TEXT NOT NULL,        -- what was asked, in canonical words
    label TEXT,                    -- the owner's public version of the data; NULL: none was given
    snapshot BYTEA NOT NULL,       -- the bought run before its first step; empty once answered
    answer TEXT,
    asked BIGINT NOT NULL,
    answered BIGINT,
    PRIMARY KEY (population, entry),
    FOREIGN KEY (population, entry) REFERENCES entry (population, number),
    CHECK ((answer IS NULL) = (answered IS NULL)),
    CHECK ((answer IS NULL) = (length(snapshot) > 0))
);

CREATE TRIGGER budget_stays BEFORE UPDATE OR DELETE ON budget
FOR EACH ROW EXECUTE FUNCTION permanent('budgets are');
CREATE TRIGGER budget_remains BEFORE TRUNCATE ON budget
FOR EACH STATEMENT EXECUTE FUNCTION permanent('budgets are');
CREATE TRIGGER answer_stays BEFORE UPDATE ON answer
FOR EACH ROW WHEN (
    old.answer IS NOT NULL OR new.answer IS NULL OR new.population <> old.population
    OR new.entry <> old.entry OR new.question <> old.question
    OR new.label IS DISTINCT FROM old.label OR new.asked <> old.asked
) EXECUTE FUNCTION permanent('answers are');
CREATE TRIGGER answer_is_kept BEFORE DELETE ON answer
FOR EACH ROW EXECUTE FUNCTION permanent('answers are');
CREATE TRIGGER answer_remains BEFORE TRUNCATE ON answer
FOR EACH STATEMENT EXECUTE FUNCTION permanent('answers are');
