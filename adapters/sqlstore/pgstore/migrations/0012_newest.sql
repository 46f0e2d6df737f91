-- Finds the blocks that have changed since a division into pages.
CREATE INDEX rs_block_newest ON rs_block (set_id, newest);
