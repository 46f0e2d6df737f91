-- Places are computed anew: they begin with a hash of the folder. That is faster without
-- their index.
DROP INDEX rs_resource_place;
