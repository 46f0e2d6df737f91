-- Where the packages of a Change Dump end, if no later change has closed them.
CREATE TABLE rs_seal (
	set_id bigint  NOT NULL,
	until  bigint  NOT NULL,
	PRIMARY KEY (set_id, until)
);
