-- Everything here is made from the journals and the book of calls, and can be made again.
-- Times are in microseconds since 1970, money in billionths of a dollar.

CREATE TABLE sessions (
    id      TEXT PRIMARY KEY,
    -- The last event that was seen, and its time.
    seq     INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    created INTEGER NOT NULL,
    -- The session's own agent.
    agent   TEXT NOT NULL,
    kind    TEXT NOT NULL DEFAULT '',
    model   TEXT,
    workdir TEXT,
    title   TEXT NOT NULL DEFAULT '',
    -- Why it ended; absent while it has not.
    ended   TEXT,
    -- The session it was forked off.
    parent  TEXT
) WITHOUT ROWID;
CREATE INDEX sessions_updated ON sessions (updated);

CREATE TABLE runs (
    session TEXT NOT NULL,
    agent   TEXT NOT NULL,
    parent  TEXT,
    name    TEXT NOT NULL DEFAULT '',
    kind    TEXT NOT NULL DEFAULT '',
    model   TEXT,
    task    TEXT NOT NULL DEFAULT '',
    started INTEGER NOT NULL,
    ended   INTEGER,
    reason  TEXT,
    PRIMARY KEY (session, agent)
) WITHOUT ROWID;

CREATE TABLE turns (
    session TEXT NOT NULL,
    agent   TEXT NOT NULL,
    turn    INTEGER NOT NULL,
    title   TEXT NOT NULL,
    started INTEGER NOT NULL,
    ended   INTEGER,
    reason  TEXT,
    -- Whether the conversation went back to before it.
    rewound INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session, agent, turn)
) WITHOUT ROWID;

CREATE TABLE calls (
    -- Names the call wherever it is written down, and which of the calls that were made for it this is. All that one
    -- run of a command-line agent tells has one name, and several places.
    id          TEXT NOT NULL,
    leaf        INTEGER NOT NULL,
    -- The session whose journal it is from; absent for one from the book.
    session     TEXT,
    -- The place in that journal, or in the book. It is the same in the journal of a fork.
    place       INTEGER NOT NULL,
    -- Who made it: an agent of the session, or something that is none.
    agent       TEXT,
    source      TEXT NOT NULL,
    -- The session that a client said it is of. If that is one of ours, the call is in its journal too.
    client      TEXT,
    turn        INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    provider    TEXT NOT NULL,
    model       TEXT NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    total       INTEGER NOT NULL,
    reasoning   INTEGER,
    cache_read  INTEGER,
    cache_write INTEGER,
    -- reported, estimated or unknown
    basis       TEXT NOT NULL,
    cost        INTEGER,
    -- A core Prefix, as JSON.
    prefix      TEXT,
    -- The council whose answer it was made for.
    council     TEXT,
    PRIMARY KEY (id, place, leaf)
) WITHOUT ROWID;
CREATE INDEX calls_session ON calls (session, place, leaf);
CREATE INDEX calls_at ON calls (at);

-- How councils came to their answers.
CREATE TABLE deliberations (
    -- The call that was answered, and when. One that was tried again has several.
    id      TEXT NOT NULL,
    at      INTEGER NOT NULL,
    -- As in calls.
    session TEXT,
    source  TEXT NOT NULL,
    -- What the council said of it, as JSON.
    minutes TEXT NOT NULL,
    PRIMARY KEY (id, at)
) WITHOUT ROWID;
CREATE INDEX deliberations_at ON deliberations (at);

-- How much of the book of calls was read, in bytes.
CREATE TABLE book (
    one  INTEGER PRIMARY KEY CHECK (one = 1),
    read INTEGER NOT NULL
);
INSERT INTO book VALUES (1, 0);
