-- Times are microseconds since 1970. Every change of a set has a time of its
-- own, which numbers it.

CREATE TABLE rs_set (
	id      INTEGER PRIMARY KEY,
	name    TEXT    NOT NULL UNIQUE,
	journal INTEGER NOT NULL, -- 1: a journal alone, without resources
	ready   INTEGER NOT NULL, -- 0: awaits its first scan
	begin   INTEGER NOT NULL, -- when the history of the set began
	since   INTEGER NOT NULL, -- from when the journal is complete
	last    INTEGER NOT NULL, -- the newest change
	count   INTEGER NOT NULL  -- resources
);

-- What writers have said and the sequencer has not taken up yet.
CREATE TABLE rs_pending (
	id       INTEGER PRIMARY KEY,
	set_id   INTEGER NOT NULL,
	change   TEXT    NOT NULL, -- created, updated or deleted
	key      BLOB    NOT NULL,
	body     BLOB,             -- the resource, encoded; else it is in the columns below
	uri      TEXT,
	lastmod  INTEGER,
	length   INTEGER,
	type     TEXT,
	encoding TEXT,
	hash     TEXT              -- as in a document: "md5:… sha-256:…"
);

-- The resources of each set, and the memory of deleted ones (body NULL) for as
-- long as the journal has their deletion.
CREATE TABLE rs_resource (
	set_id INTEGER NOT NULL,
	key    BLOB    NOT NULL,
	newest INTEGER NOT NULL, -- the newest change
	size   INTEGER NOT NULL, -- of the entry in a Resource List, in bytes
	place  INTEGER NOT NULL, -- hash of the path and query of its URI, or 0
	body   BLOB,
	PRIMARY KEY (set_id, key)
) WITHOUT ROWID;

CREATE INDEX rs_resource_place ON rs_resource (set_id, place) WHERE place <> 0;

-- Sums over runs of rs_resource. A block begins at lo and ends at the next.
CREATE TABLE rs_block (
	set_id INTEGER NOT NULL,
	lo     BLOB    NOT NULL,
	rows   INTEGER NOT NULL, -- deleted ones included
	count  INTEGER NOT NULL, -- resources
	bytes  INTEGER NOT NULL, -- of their entries
	newest INTEGER NOT NULL,
	PRIMARY KEY (set_id, lo)
) WITHOUT ROWID;

-- The cuts of each division into pages that has been asked for.
CREATE TABLE rs_division (
	set_id INTEGER NOT NULL,
	every  INTEGER NOT NULL,
	cuts   BLOB    NOT NULL,
	PRIMARY KEY (set_id, every)
) WITHOUT ROWID;

CREATE TABLE rs_change (
	set_id INTEGER NOT NULL,
	at     INTEGER NOT NULL,
	change TEXT    NOT NULL,
	key    BLOB    NOT NULL,
	size   INTEGER NOT NULL, -- of the entry in a Change List, in bytes
	body   BLOB    NOT NULL,
	PRIMARY KEY (set_id, at)
) WITHOUT ROWID;

-- The closed windows of each division of a journal that has been asked for.
CREATE TABLE rs_window (
	set_id INTEGER NOT NULL,
	most   INTEGER NOT NULL, -- changes in a window
	until  INTEGER NOT NULL,
	count  INTEGER NOT NULL,
	bytes  INTEGER NOT NULL,
	PRIMARY KEY (set_id, most, until)
) WITHOUT ROWID;
