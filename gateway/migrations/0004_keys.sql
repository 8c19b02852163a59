-- What the place of a message was held to when it came (decisions § 3.14); null when
-- nobody knows, as of those that are older than this column.
alter table attache.messages add column key text;
