-- Notes are small values that a program keeps beside its sets.
CREATE TABLE rs_note (
	owner bytea NOT NULL,
	key bytea NOT NULL,
	value bytea NOT NULL,
	PRIMARY KEY (owner, key)
);
