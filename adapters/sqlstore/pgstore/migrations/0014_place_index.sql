CREATE INDEX rs_resource_place ON rs_resource (set_id, place) WHERE place <> 0;
