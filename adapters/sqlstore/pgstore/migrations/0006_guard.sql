-- What the guard of each set remembers of its scans. A set in which nothing has
-- happened has no row.

CREATE TABLE rs_guard (
	set_id     BIGINT PRIMARY KEY,
	net        BIGINT NOT NULL, -- deletions less creations of this period
	earlier    BIGINT NOT NULL, -- and of the one before
	period     BIGINT NOT NULL, -- when this period began
	held       BIGINT NOT NULL, -- deletions that are held
	since      BIGINT NOT NULL, -- since when there are such
	quiet      BIGINT NOT NULL, -- since when nothing of it has come back
	confirmed  BIGINT NOT NULL, -- how many of them may be published
	unreadable BIGINT NOT NULL  -- resources kept because the last scan could not see them
);
