-- A revision of anything is a line of its journal; it is committed once that is a row.
CREATE TABLE revision (
    stream text NOT NULL,
    seq bigint NOT NULL,
    op text NOT NULL,
    whole boolean NOT NULL,
    line bytea NOT NULL,
    machine text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (stream, seq)
);
CREATE UNIQUE INDEX revision_op ON revision (stream, op) WHERE op <> '';
CREATE INDEX revision_whole ON revision (stream, seq) WHERE whole;

-- How far each stream has come. What changed since a snapshot is found by its transaction.
CREATE TABLE head (
    stream text PRIMARY KEY,
    seq bigint NOT NULL,
    purged text NOT NULL DEFAULT '',
    changed xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX head_changed ON head (changed);

-- What exists once for all machines: open names, numbers, the key, hooks that were told.
-- Only an index in the order of the bytes finds what begins in a way.
CREATE TABLE name (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);

-- Who does something now; it ends by the time of the database.
CREATE TABLE lease (
    name text COLLATE "C" PRIMARY KEY,
    holder text NOT NULL,
    ends timestamptz NOT NULL
);

-- Files, in pieces, by the digest of the whole.
CREATE TABLE chunk (
    digest text NOT NULL,
    number integer NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (digest, number)
);

-- Texts of blind phases; what reads them holds the lock of their conversation.
CREATE TABLE sealed (
    stream text NOT NULL,
    digest text NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (stream, digest)
);

-- Lines of logs that several machines add to, each once.
CREATE TABLE log (
    id bigserial PRIMARY KEY,
    stream text NOT NULL,
    digest text NOT NULL,
    line bytea, -- none where it was purged
    machine text NOT NULL,
    changed xid8 NOT NULL DEFAULT pg_current_xact_id(),
    UNIQUE (stream, digest)
);
CREATE INDEX log_changed ON log (changed);

CREATE TABLE machine (
    name text PRIMARY KEY,
    joined timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen timestamptz NOT NULL DEFAULT clock_timestamp()
);
