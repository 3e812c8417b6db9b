-- The first version of the tables. A later one is another file, which changes what is there: unlike the
-- index, nothing of this can be made again.
-- Times are in microseconds since 1970.

CREATE TABLE agents (
    name       TEXT PRIMARY KEY COLLATE NOCASE,
    -- An AgentSetup, as JSON.
    setup      TEXT NOT NULL,
    created    INTEGER NOT NULL,
    -- Raised when what it remembers is to be forgotten: a run that began before keeps no session.
    generation INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- What brings an agent's conversation back, one for each provider that it was had with.
CREATE TABLE sessions (
    agent    TEXT NOT NULL COLLATE NOCASE REFERENCES agents (name) ON DELETE CASCADE,
    provider TEXT NOT NULL,
    -- A ResumeHandle, as JSON.
    handle   TEXT NOT NULL,
    created  INTEGER NOT NULL,
    -- When its last run ended.
    used     INTEGER,
    context  INTEGER,
    PRIMARY KEY (agent, provider)
) WITHOUT ROWID;

CREATE TABLE inputs (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    agent    TEXT NOT NULL COLLATE NOCASE REFERENCES agents (name) ON DELETE CASCADE,
    text     TEXT NOT NULL,
    queued   INTEGER NOT NULL,
    -- Not taken before.
    due      INTEGER NOT NULL,
    -- How many of its runs failed, or ended with their process.
    attempts INTEGER NOT NULL DEFAULT 0,
    state    TEXT NOT NULL DEFAULT 'waiting'
        CHECK (state IN ('waiting', 'leased', 'done', 'cancelled', 'given_up'))
);
CREATE INDEX inputs_next ON inputs (agent, state, id);

CREATE TABLE runs (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    agent      TEXT NOT NULL COLLATE NOCASE REFERENCES agents (name) ON DELETE CASCADE,
    input      INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    status     TEXT NOT NULL DEFAULT 'running'
        CHECK (status IN ('running', 'completed', 'failed', 'cancelled')),
    started    INTEGER NOT NULL,
    ended      INTEGER,
    provider   TEXT NOT NULL,
    model      TEXT,
    -- Why it began a conversation of its own; absent if it went on with one.
    fresh      TEXT,
    -- The session of ours that has its events.
    journal    TEXT,
    -- The provider's own name for the conversation.
    session    TEXT,
    context    INTEGER,
    -- A Usage and a Cost, as JSON; absent where they are not known.
    usage      TEXT,
    cost       TEXT,
    exit       INTEGER,
    class      TEXT,
    error      TEXT,
    text       TEXT NOT NULL DEFAULT '',
    -- The process that runs it, as no other can be called.
    process    TEXT NOT NULL,
    -- Whether somebody wants it to stop.
    abort      INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX runs_of ON runs (agent, id);

-- Providers that are not asked for a while, because they could not answer.
CREATE TABLE suppressed (
    provider TEXT PRIMARY KEY,
    class    TEXT NOT NULL,
    since    INTEGER NOT NULL,
    until    INTEGER NOT NULL,
    message  TEXT NOT NULL
) WITHOUT ROWID;
