-- Resources that have been withdrawn and whose deletions are not in the journal yet.
-- rs_resource has their rows without a body, as those of deleted ones.
CREATE TABLE rs_withdrawn (
	set_id INTEGER NOT NULL,
	key    BLOB    NOT NULL,
	at     INTEGER NOT NULL, -- when it was withdrawn
	size   INTEGER NOT NULL, -- these three are as in rs_resource before
	place  INTEGER NOT NULL,
	body   BLOB    NOT NULL,
	PRIMARY KEY (set_id, key)
) WITHOUT ROWID;
