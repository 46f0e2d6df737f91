-- programs: 21
-- As in script 23: a state without sets has places with longer hashes of stems.
INSERT INTO rs_migration (number) SELECT 24 WHERE NOT EXISTS (SELECT 1 FROM rs_set);
