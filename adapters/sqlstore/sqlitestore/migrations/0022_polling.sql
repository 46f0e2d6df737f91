-- programs: 21
-- Only PostgreSQL has notifications.
SELECT NULL;
