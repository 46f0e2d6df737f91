-- programs: 21
-- Without sets, there are no places yet that older programs must find: such a state has those of
-- similar names, and is refused by programs that do not know this script.
INSERT INTO rs_migration (number) SELECT 23 WHERE NOT EXISTS (SELECT 1 FROM rs_set);
