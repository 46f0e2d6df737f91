-- When each pending change was recorded.
ALTER TABLE rs_pending ADD COLUMN recorded bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
