-- See features/agency/schema.sql for what this file is.
create table if not exists home_shopping (
    item   text primary key,
    amount text not null default '',
    done   boolean not null default false,
    added  timestamptz not null default now()
);
create or replace view home_shopping_open as
    select item, amount from home_shopping where not done order by added, item;

insert into home_shopping (item, amount) values ('eggs', '10'), ('flour', '1 kg') on conflict do nothing;
