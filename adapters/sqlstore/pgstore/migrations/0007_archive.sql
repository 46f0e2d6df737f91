-- An archive keeps changes for longer than the journal promises to be complete.

ALTER TABLE rs_set ADD COLUMN archive bigint NOT NULL DEFAULT 0;   -- after when changes are kept
ALTER TABLE rs_set ADD COLUMN forgotten bigint NOT NULL DEFAULT 0; -- up to when deletions are forgotten
ALTER TABLE rs_set ADD COLUMN erased bigint NOT NULL DEFAULT 0;    -- when something was last erased; 0: never

UPDATE rs_set SET archive = since;

-- What is not to be archived: changes of these URIs up to a time.
CREATE TABLE rs_erased (
	set_id bigint NOT NULL,
	uri    text NOT NULL,
	at     bigint NOT NULL,
	PRIMARY KEY (set_id, uri)
);
