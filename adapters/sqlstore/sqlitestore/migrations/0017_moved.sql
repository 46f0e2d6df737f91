-- When the state of a journal last moved without a change, because another condition has
-- changed its lists. A process that has seen this time must find it again.
ALTER TABLE rs_cover ADD COLUMN moved INTEGER NOT NULL DEFAULT 0;
