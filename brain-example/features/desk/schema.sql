-- See features/agency/schema.sql for what this file is. There are no customers in here:
-- everyone is let into this chat, so everyone may learn what its turns carry.
create table if not exists desk_slots (
    day  text primary key,
    free integer not null check (free >= 0)
);
create or replace view desk_workshop as
    select day, free as free_places from desk_slots
    order by array_position(array['Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'], day);

insert into desk_slots (day, free) values
    ('Tuesday', 2), ('Wednesday', 0), ('Thursday', 4), ('Friday', 1), ('Saturday', 0)
on conflict do nothing;
