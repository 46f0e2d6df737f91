-- Times are microseconds since 1970. Every change of a set has a time of its
-- own, which numbers it.

CREATE TABLE rs_set (
	id      bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name    text    NOT NULL UNIQUE,
	journal bigint  NOT NULL, -- 1: a journal alone, without resources
	ready   bigint  NOT NULL, -- 0: awaits its first scan
	begin   bigint  NOT NULL, -- when the history of the set began
	since   bigint  NOT NULL, -- from when the journal is complete
	last    bigint  NOT NULL, -- the newest change
	count   bigint  NOT NULL  -- resources
) WITH (fillfactor = 50);

-- What writers have said and the sequencer has not taken up yet.
CREATE TABLE rs_pending (
	id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	set_id   bigint NOT NULL,
	change   text   NOT NULL, -- created, updated or deleted
	key      bytea  NOT NULL,
	body     bytea,           -- the resource, encoded; else it is in the columns below
	uri      text,
	lastmod  bigint,
	length   bigint,
	type     text,
	encoding text,
	hash     text             -- as in a document: "md5:… sha-256:…"
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

-- Whoever inserts wakes the sequencer, in whatever language.
CREATE FUNCTION rs_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_notify('rs_' || md5(TG_TABLE_SCHEMA), '');
	RETURN NULL;
END
$$;

CREATE TRIGGER rs_notify AFTER INSERT ON rs_pending
	FOR EACH STATEMENT EXECUTE FUNCTION rs_notify();

-- The resources of each set, and the memory of deleted ones (body NULL) for as
-- long as the journal has their deletion.
CREATE TABLE rs_resource (
	set_id bigint NOT NULL,
	key    bytea  NOT NULL,
	newest bigint NOT NULL, -- the newest change
	size   bigint NOT NULL, -- of the entry in a Resource List, in bytes
	place  bigint NOT NULL, -- hash of the path and query of its URI, or 0
	body   bytea,
	PRIMARY KEY (set_id, key)
) WITH (fillfactor = 90);

CREATE INDEX rs_resource_place ON rs_resource (set_id, place) WHERE place <> 0;

-- Sums over runs of rs_resource. A block begins at lo and ends at the next.
CREATE TABLE rs_block (
	set_id bigint NOT NULL,
	lo     bytea  NOT NULL,
	rows   bigint NOT NULL, -- deleted ones included
	count  bigint NOT NULL, -- resources
	bytes  bigint NOT NULL, -- of their entries
	newest bigint NOT NULL,
	PRIMARY KEY (set_id, lo)
) WITH (fillfactor = 50);

-- The cuts of each division into pages that has been asked for.
CREATE TABLE rs_division (
	set_id bigint NOT NULL,
	every  bigint NOT NULL,
	cuts   bytea  NOT NULL,
	PRIMARY KEY (set_id, every)
);

CREATE TABLE rs_change (
	set_id bigint NOT NULL,
	at     bigint NOT NULL,
	change text   NOT NULL,
	key    bytea  NOT NULL,
	size   bigint NOT NULL, -- of the entry in a Change List, in bytes
	body   bytea  NOT NULL,
	PRIMARY KEY (set_id, at)
);

-- The closed windows of each division of a journal that has been asked for.
CREATE TABLE rs_window (
	set_id bigint NOT NULL,
	most   bigint NOT NULL, -- changes in a window
	until  bigint NOT NULL,
	count  bigint NOT NULL,
	bytes  bigint NOT NULL,
	PRIMARY KEY (set_id, most, until)
);
