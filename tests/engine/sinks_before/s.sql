BEGIN TRANSACTION;
CREATE TABLE entry (
    population INTEGER NOT NULL REFERENCES population (number),
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    "on" TEXT NOT NULL,
    why TEXT NOT NULL,
    "by" TEXT NOT NULL,
    asked TEXT NOT NULL,
    paid TEXT NOT NULL,
    recipe TEXT NOT NULL,
    guarantee TEXT NOT NULL,
    run TEXT NOT NULL UNIQUE,
    PRIMARY KEY (population, number)
) STRICT, WITHOUT ROWID;
INSERT INTO "entry" VALUES(1,1,1794771819151693,'s/visits','plan of stream ''s''','people','{"ameles":"loss","version":1,"currency":"pure","epsilon":"1"}','{"ameles":"loss","version":1,"currency":"pure","epsilon":"1"}','{"ameles":"recipe","version":1,"recipe":"SimpleTwoCounter","unit":"event","width":5,"contributions":1,"bound":1,"epsilon":"1","horizon":6}','{"ameles":"guarantee","version":1,"loss":{"currency":"pure","epsilon":"1"},"unit":{"kind":"event","window":null},"neighbours":"step","contribution":{"steps":1,"bound":1,"norm":"L1"},"horizon":6,"intrusions":"every"}','dd75bf7b814bb922df422e489629a056');
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
CREATE TABLE intrusion (
    stream INTEGER NOT NULL REFERENCES stream (number),
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    why TEXT NOT NULL,
    PRIMARY KEY (stream, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE meta (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "meta" VALUES('version','2');
CREATE TABLE pending (
    stream INTEGER NOT NULL PRIMARY KEY REFERENCES stream (number),
    secret BLOB NOT NULL
) STRICT;
INSERT INTO "pending" VALUES(1,X'414D454C4553005002674F14A98C0000007B226861736865645F6279223A2022222C2022617272617973223A205B5B22746F74616C2F7669736974732F73746570222C20223C6938222C205B315D5D2C205B22746F74616C2F7669736974732F63656C6C222C20223C6938222C205B315D5D2C205B22746F74616C2F7669736974732F616D6F756E7473222C20223C6938222C205B312C20315D5D5D7D030000000000000002000000000000000100000000000000');
CREATE TABLE population (
    number INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    cap TEXT NOT NULL,             -- at the opening; renewals add to it
    unit TEXT NOT NULL,
    neighbours TEXT NOT NULL,
    "window" TEXT,                 -- of a user, as a length of time: steps of two streams differ
    contributions INTEGER,
    opened INTEGER NOT NULL
) STRICT;
INSERT INTO "population" VALUES(1,'people','{"ameles":"loss","version":1,"currency":"pure","epsilon":"1"}','event','add-remove',NULL,NULL,1794771819150826);
CREATE TABLE position (
    stream INTEGER NOT NULL PRIMARY KEY REFERENCES stream (number),
    position TEXT NOT NULL
) STRICT;
INSERT INTO "position" VALUES(1,'{"ameles":"position","version":1,"kind":"text","files":[{"name":"events.csv","device":65024,"inode":10314005,"offset":88,"head":"4ff2070be303b7eabb844374f025d6d1c4db3ce2678cd03e356425f906d7b46c","tail":"4ff2070be303b7eabb844374f025d6d1c4db3ce2678cd03e356425f906d7b46c","within":false}]}');
CREATE TABLE release (
    stream INTEGER NOT NULL,
    step INTEGER NOT NULL,
    series INTEGER NOT NULL,
    value ANY,
    low ANY,
    high ANY,
    label TEXT NOT NULL,
    PRIMARY KEY (stream, step, series)
) STRICT, WITHOUT ROWID;
INSERT INTO "release" VALUES(1,1,1,0,-3,3,'');
INSERT INTO "release" VALUES(1,1,2,0,-3,3,'');
INSERT INTO "release" VALUES(1,1,3,0,-3,3,'');
INSERT INTO "release" VALUES(1,1,4,-1,-4,2,'');
INSERT INTO "release" VALUES(1,1,5,-2,-5,1,'');
INSERT INTO "release" VALUES(1,2,1,2,-2,6,'');
INSERT INTO "release" VALUES(1,2,2,0,-4,4,'');
INSERT INTO "release" VALUES(1,2,3,3,-1,7,'');
INSERT INTO "release" VALUES(1,2,4,0,-4,4,'');
INSERT INTO "release" VALUES(1,2,5,-2,-6,2,'');
CREATE TABLE renewal (
    population INTEGER NOT NULL REFERENCES population (number),
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    why TEXT NOT NULL,
    added TEXT NOT NULL,
    PRIMARY KEY (population, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE seen (
    stream INTEGER NOT NULL,
    "window" INTEGER NOT NULL,
    "user" BLOB NOT NULL,          -- 16 bytes of a keyed hash
    steps INTEGER NOT NULL,
    marks INTEGER NOT NULL,
    PRIMARY KEY (stream, "window", "user")
) STRICT, WITHOUT ROWID;
CREATE TABLE sent (
    stream INTEGER NOT NULL REFERENCES stream (number),
    sink TEXT NOT NULL,
    step INTEGER NOT NULL,
    PRIMARY KEY (stream, sink)
) STRICT, WITHOUT ROWID;
CREATE TABLE series (
    stream INTEGER NOT NULL REFERENCES stream (number),
    number INTEGER NOT NULL,
    release TEXT NOT NULL,
    "key" TEXT NOT NULL,
    mechanism TEXT NOT NULL,
    entry INTEGER NOT NULL,
    PRIMARY KEY (stream, number),
    UNIQUE (stream, release, "key")
) STRICT, WITHOUT ROWID;
INSERT INTO "series" VALUES(1,1,'visits','=north','SimpleTwoCounter',1);
INSERT INTO "series" VALUES(1,2,'visits','+south','SimpleTwoCounter',1);
INSERT INTO "series" VALUES(1,3,'visits','-1','SimpleTwoCounter',1);
INSERT INTO "series" VALUES(1,4,'visits','''east','SimpleTwoCounter',1);
INSERT INTO "series" VALUES(1,5,'visits','west','SimpleTwoCounter',1);
CREATE TABLE state (
    stream INTEGER NOT NULL REFERENCES stream (number),
    release TEXT NOT NULL,
    entry INTEGER NOT NULL,
    mechanism TEXT NOT NULL,
    recipe TEXT NOT NULL,
    snapshot BLOB NOT NULL,
    history BLOB NOT NULL,
    PRIMARY KEY (stream, release)
) STRICT;
INSERT INTO "state" VALUES(1,'visits',1,'SimpleTwoCounter','{"ameles":"recipe","version":1,"recipe":"SimpleTwoCounter","unit":"event","width":5,"contributions":1,"bound":1,"epsilon":"1","horizon":6}',X'414D454C455300530100B62C4CB7309E640C61ADC7F41C48BA253C05E7AC42642A0243A2EC9F0A58F033DD75BF7B814BB922DF422E489629A05602000000000000000200000005000000000000000200000000000000000000000000000003000000000000000000000000000000FEFFFFFFFFFFFFFF01000000000000000000000000000000BE7A9F915D1596D91D15AE99BDFCC7618F3BE5EFBE60CB41CC5D848894CD4192',X'');
CREATE TABLE step (
    stream INTEGER NOT NULL REFERENCES stream (number),
    step INTEGER NOT NULL,
    start_us INTEGER NOT NULL,
    end_us INTEGER NOT NULL,
    PRIMARY KEY (stream, step)
) STRICT, WITHOUT ROWID;
INSERT INTO "step" VALUES(1,1,1767225600000000,1767312000000000);
INSERT INTO "step" VALUES(1,2,1767312000000000,1767398400000000);
CREATE TABLE stream (
    number INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    population INTEGER NOT NULL REFERENCES population (number),
    plan TEXT NOT NULL,
    identity TEXT NOT NULL UNIQUE,
    salt BLOB NOT NULL,
    launched INTEGER NOT NULL,
    released INTEGER NOT NULL DEFAULT 0,
    scheduled INTEGER NOT NULL DEFAULT 0,
    CHECK (0 <= released AND released <= scheduled)
) STRICT;
INSERT INTO "stream" VALUES(1,'s',1,'{"privacy":{"epsilon":"1","population":"people","unit":"event"},"release":[{"by":{"region":["=north","+south","-1","''east","west"]},"measure":"count","name":"visits"}],"stream":{"columns":{"at":"timestamp","region":"text"},"every":"1d","horizon":6,"name":"s","source":"events.csv","start":"2026-01-01T00:00:00","time":"at"}}','6bc28b13-1f9f-4204-a9fc-63237b2c44e1',X'B228DAEE8F795D3DBED52D4F49CE52E7F3C110E48FCF8C48D043057113EC1C25',1794771819152027,2,2);
CREATE VIEW releases AS
SELECT
    stream.name AS stream,
    series.release AS release,
    series."key" AS "key",
    step.step AS step,
    strftime('%Y-%m-%dT%H:%M:%S', (step.start_us - fraction_of_start) / 1000000, 'unixepoch')
        || CASE fraction_of_start WHEN 0 THEN '' ELSE printf('.%06d', fraction_of_start) END
        || 'Z' AS start,
    strftime('%Y-%m-%dT%H:%M:%S', (step.end_us - fraction_of_end) / 1000000, 'unixepoch')
        || CASE fraction_of_end WHEN 0 THEN '' ELSE printf('.%06d', fraction_of_end) END
        || 'Z' AS "end",
    release.value AS value,
    release.low AS low,
    release.high AS high,
    release.label AS label,
    series.mechanism AS mechanism,
    series.entry AS entry
FROM stream
CROSS JOIN (
    SELECT
        *,
        (start_us % 1000000 + 1000000) % 1000000 AS fraction_of_start,
        (end_us % 1000000 + 1000000) % 1000000 AS fraction_of_end
    FROM step
) AS step
CROSS JOIN series
CROSS JOIN release
WHERE step.stream = stream.number
    AND series.stream = stream.number
    AND release.stream = stream.number
    AND release.step = step.step
    AND release.series = series.number;
CREATE TRIGGER entry_stays BEFORE UPDATE ON entry
BEGIN SELECT RAISE(ABORT, 'entries are permanent'); END;
CREATE TRIGGER entry_remains BEFORE DELETE ON entry
BEGIN SELECT RAISE(ABORT, 'entries are permanent'); END;
CREATE TRIGGER renewal_stays BEFORE UPDATE ON renewal
BEGIN SELECT RAISE(ABORT, 'renewals are permanent'); END;
CREATE TRIGGER renewal_remains BEFORE DELETE ON renewal
BEGIN SELECT RAISE(ABORT, 'renewals are permanent'); END;
CREATE TRIGGER release_stays BEFORE UPDATE ON release
BEGIN SELECT RAISE(ABORT, 'releases are permanent'); END;
CREATE TRIGGER release_remains BEFORE DELETE ON release
BEGIN SELECT RAISE(ABORT, 'releases are permanent'); END;
CREATE TRIGGER mark_stays BEFORE UPDATE ON meta WHEN old.name = 'noise'
BEGIN SELECT RAISE(ABORT, 'the mark is permanent'); END;
CREATE TRIGGER mark_remains BEFORE DELETE ON meta WHEN old.name = 'noise'
BEGIN SELECT RAISE(ABORT, 'the mark is permanent'); END;
CREATE TRIGGER epoch_remains BEFORE DELETE ON epoch
BEGIN SELECT RAISE(ABORT, 'epochs are permanent'); END;
PRAGMA user_version = 0;
PRAGMA application_id = 0;
COMMIT;
