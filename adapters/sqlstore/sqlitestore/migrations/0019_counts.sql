-- Of the pages of a table that has a journal: the number of resources and the time of the
-- newest change of each, and the time up to which these include all changes.
ALTER TABLE rs_division ADD COLUMN counts BLOB;
ALTER TABLE rs_division ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
