-- An archive keeps changes for longer than the journal promises to be complete.

ALTER TABLE rs_set ADD COLUMN archive INTEGER NOT NULL DEFAULT 0;   -- after when changes are kept
ALTER TABLE rs_set ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0; -- up to when deletions are forgotten
ALTER TABLE rs_set ADD COLUMN erased INTEGER NOT NULL DEFAULT 0;    -- when something was last erased; 0: never

UPDATE rs_set SET archive = since;

-- What is not to be archived: changes of these URIs up to a time.
CREATE TABLE rs_erased (
	set_id INTEGER NOT NULL,
	uri    TEXT NOT NULL,
	at     INTEGER NOT NULL,
	PRIMARY KEY (set_id, uri)
) WITHOUT ROWID;
