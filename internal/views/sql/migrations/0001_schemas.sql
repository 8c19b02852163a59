-- What was last applied of each feature's schema.sql.
create table attache.schemas (
	feature text        primary key,
	hash    text        not null, -- hex SHA-256 of the text; empty: apply it again
	views   text[]      not null, -- views that the text defined in public
	at      timestamptz not null default now()
);
