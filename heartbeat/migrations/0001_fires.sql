-- Up to which instant the slots of each beat are dealt with: fired, skipped or none
-- of its slots at the time. A beat without a row has never run here, or was off
-- since, and so has missed nothing. Whoever decides about a beat locks its row.
create table attache.beats (
  id      text        primary key,
  known   timestamptz not null,           -- since when it is known, by the process's clock
  handled timestamptz not null
);

-- One row for each time that an entity was set off. Other programs may read this
-- table (interface § 6). What sets an entity off has a name of its own, the slot:
-- of a heartbeat its instant in UTC, as in 2026-11-30T09:00:00Z.
create table attache.fires (
  id     bigint      generated always as identity primary key,
  kind   text        not null,            -- heartbeat, and whatever else fires
  entity text        not null,            -- its id, unique in its kind
  slot   text        not null,
  state  text        not null,            -- fired, blank, skipped or refused
  why    text        not null default '', -- of skipped and refused
  turn   bigint,                          -- the run that it began; null: none
  at     timestamptz not null default now(),
  unique (kind, entity, slot)
);
create index fires_turn on attache.fires (turn) where turn is not null;
create index fires_latest on attache.fires (kind, entity, id);
create index fires_at on attache.fires (at);
