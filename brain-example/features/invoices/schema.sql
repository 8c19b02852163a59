-- See features/agency/schema.sql for what this file is.
create table if not exists invoices (
    number text primary key,
    client text not null,
    euro   numeric(9, 2) not null,
    due    date not null,
    paid   date
);
create or replace view invoices_open as
    select number, client, euro, due, greatest(current_date - due, 0) as days_late
    from invoices where paid is null order by due;
create or replace view invoice_card as
    select number, client, euro, due, paid from invoices;

insert into invoices (number, client, euro, due, paid) values
    ('2026-27', 'Lumen', 650.00, '2026-09-30', '2026-10-02'),
    ('2026-31', 'Lumen', 480.00, '2026-11-03', null),
    ('2026-34', 'Haven Books', 1250.00, '2026-12-14', null)
on conflict do nothing;
