-- Notes are small values that a program keeps beside its sets.
CREATE TABLE rs_note (
	owner BLOB NOT NULL,
	key BLOB NOT NULL,
	value BLOB NOT NULL,
	PRIMARY KEY (owner, key)
) WITHOUT ROWID;
