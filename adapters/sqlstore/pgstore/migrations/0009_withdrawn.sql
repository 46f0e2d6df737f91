-- Resources that have been withdrawn and whose deletions are not in the journal yet.
-- rs_resource has their rows without a body, as those of deleted ones.
CREATE TABLE rs_withdrawn (
	set_id bigint  NOT NULL,
	key    bytea   NOT NULL,
	at     bigint  NOT NULL, -- when it was withdrawn
	size   bigint  NOT NULL, -- these three are as in rs_resource before
	place  bigint  NOT NULL,
	body   bytea   NOT NULL,
	PRIMARY KEY (set_id, key)
);
