-- When each pending change was recorded. SQLite adds a column with such a default only to an
-- empty table.
CREATE TEMP TABLE rs_waiting AS SELECT * FROM rs_pending;
DELETE FROM rs_pending;
ALTER TABLE rs_pending ADD COLUMN recorded INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
INSERT INTO rs_pending (id, set_id, change, key, body, uri, lastmod, length, type, encoding, hash)
	SELECT id, set_id, change, key, body, uri, lastmod, length, type, encoding, hash FROM rs_waiting;
DROP TABLE rs_waiting;
