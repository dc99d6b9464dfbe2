-- Version 5.  Renewals of the caps of named budgets.  Nothing in it is secret.

CREATE TABLE budget_renewal (
    population BIGINT NOT NULL,
    budget TEXT NOT NULL,
    number BIGINT NOT NULL,        -- from 1, in the order of renewing this budget
    at BIGINT NOT NULL,
    why TEXT NOT NULL,
    added TEXT NOT NULL,
    PRIMARY KEY (population, budget, number),
    FOREIGN KEY (population, budget) REFERENCES budget (population, name)
);

CREATE TRIGGER budget_renewal_stays BEFORE UPDATE OR DELETE ON budget_renewal
FOR EACH ROW EXECUTE FUNCTION permanent('renewals are');
CREATE TRIGGER budget_renewal_remains BEFORE TRUNCATE ON budget_renewal
FOR EACH STATEMENT EXECUTE FUNCTION permanent('renewals are');
