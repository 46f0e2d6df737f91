-- Requests are claimed by their rank among those of their client.
CREATE INDEX rs_request_client ON rs_request (hub_id, client, id);
