-- What the resources of a set come from, in the words of the program that fills it.
ALTER TABLE rs_set ADD COLUMN origin TEXT;
