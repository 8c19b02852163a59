-- The tables and views of the feature, in PostgreSQL. It runs when the program starts
-- and this text has changed, whole or not at all; so it is written to run again. What
-- would drop a table or a column is refused. Names without a schema are in `public`.
create table if not exists agency_clients (
    slug    text primary key,        -- the entity key: acme in access.yaml is this
    name    text not null,
    package text not null,
    since   date not null
);
create table if not exists agency_promises (
    client  text not null references agency_clients,
    what    text not null,
    due     date not null,
    done    boolean not null default false,
    primary key (client, what)
);

-- The model reads views, and only those that a context or a role names: over a login
-- that may select from them and nothing else. A view's columns are its words, so name
-- them for a reader.
create or replace view agency_client_card as
    select slug as client_slug, name as client, package, since from agency_clients;
create or replace view agency_promises_open as
    select client as client_slug, what, due from agency_promises where not done order by due;

insert into agency_clients (slug, name, package, since) values
    ('acme', 'Acme Anvils', 'brand, 40 hours a month', '2025-02-01'),
    ('globex', 'Globex', 'web site, 16 hours a month', '2026-05-15')
on conflict do nothing;
insert into agency_promises (client, what, due) values
    ('acme', 'the new logo, three drafts', '2026-12-03'),
    ('acme', 'photos of the forge', '2026-12-11'),
    ('globex', 'the landing page in German', '2026-12-07')
on conflict do nothing;
