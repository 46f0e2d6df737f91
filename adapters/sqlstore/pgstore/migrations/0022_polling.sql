-- programs: 21
-- PostgreSQL commits only one transaction at a time that notifies. So none does while a sequencer
-- holds this lock: it then looks for changes by itself. The lock is freed at once, because the
-- sequencer must get it while many transactions write.
CREATE OR REPLACE FUNCTION rs_notify() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	channel text := 'rs_' || md5(TG_TABLE_SCHEMA);
	polling bigint := hashtextextended(channel, 0);
BEGIN
	IF pg_try_advisory_lock_shared(polling) THEN
		PERFORM pg_advisory_unlock_shared(polling);
		PERFORM pg_notify(channel, '');
	END IF;
	RETURN NULL;
END
$$;
