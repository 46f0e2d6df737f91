-- What the guard of each set remembers of its scans. A set in which nothing has
-- happened has no row.

CREATE TABLE rs_guard (
	set_id     INTEGER PRIMARY KEY,
	net        INTEGER NOT NULL, -- deletions less creations of this period
	earlier    INTEGER NOT NULL, -- and of the one before
	period     INTEGER NOT NULL, -- when this period began
	held       INTEGER NOT NULL, -- deletions that are held
	since      INTEGER NOT NULL, -- since when there are such
	quiet      INTEGER NOT NULL, -- since when nothing of it has come back
	confirmed  INTEGER NOT NULL, -- how many of them may be published
	unreadable INTEGER NOT NULL  -- resources kept because the last scan could not see them
);
