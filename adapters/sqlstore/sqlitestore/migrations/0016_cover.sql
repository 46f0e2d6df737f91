-- What the triggers of a journal cover, and what proves that the journal is complete.
CREATE TABLE rs_cover (
	set_id    INTEGER PRIMARY KEY,
	made      TEXT NOT NULL,            -- the number of the statements that made the triggers; '' if ours have dropped them
	covers    TEXT NOT NULL,            -- what the triggers cover, by the same statements
	proof     TEXT NOT NULL DEFAULT '', -- triggers and database, as they were when the journal was complete
	restarted INTEGER NOT NULL DEFAULT 0,  -- when the journal began anew; 0: never
	reason    TEXT NOT NULL DEFAULT ''  -- why
);

-- Rows that have left a set because its condition has changed, and whose deletions are held.
CREATE TABLE rs_leaving (
	id     INTEGER PRIMARY KEY,
	set_id INTEGER NOT NULL,
	key    BLOB NOT NULL,
	uri    TEXT NOT NULL
);

-- Not the whole URI, because an index has a limit.
CREATE INDEX rs_leaving_uri ON rs_leaving (set_id, substr(uri, 1, 500));
