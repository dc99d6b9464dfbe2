-- Version 5.  Renewals of the caps of named budgets.  Nothing in it is secret.

CREATE TABLE budget_renewal (
    population INTEGER NOT NULL,
    budget TEXT NOT NULL,
    number INTEGER NOT NULL,       -- from 1, in the order of renewing this budget
    at INTEGER NOT NULL,
    why TEXT NOT NULL,
    added TEXT NOT NULL,
    PRIMARY KEY (population, budget, number),
    FOREIGN KEY (population, budget) REFERENCES budget (population, name)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER budget_renewal_stays BEFORE UPDATE ON budget_renewal
BEGIN SELECT RAISE(ABORT, 'renewals are permanent'); END;
CREATE TRIGGER budget_renewal_remains BEFORE DELETE ON budget_renewal
BEGIN SELECT RAISE(ABORT, 'renewals are permanent'); END;
