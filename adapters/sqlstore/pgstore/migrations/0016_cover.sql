-- What the triggers of a journal cover, and what proves that the journal is complete.
CREATE TABLE rs_cover (
	set_id    bigint PRIMARY KEY,
	made      text NOT NULL,            -- the number of the statements that made the triggers; '' if ours have dropped them
	covers    text NOT NULL,            -- what the triggers cover, by the same statements
	proof     text NOT NULL DEFAULT '', -- triggers and database, as they were when the journal was complete
	restarted bigint NOT NULL DEFAULT 0,  -- when the journal began anew; 0: never
	reason    text NOT NULL DEFAULT ''  -- why
);

-- Rows that have left a set because its condition has changed, and whose deletions are held.
CREATE TABLE rs_leaving (
	id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	set_id bigint NOT NULL,
	key    bytea NOT NULL,
	uri    text NOT NULL
);

-- Not the whole URI, because an index has a limit.
CREATE INDEX rs_leaving_uri ON rs_leaving (set_id, substr(uri, 1, 500));
