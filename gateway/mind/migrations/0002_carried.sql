-- The ledger: what a turn carried, what a budget left out, and what was refused
-- (text 1 § 5.1). Other programs may read it (interface § 6).
create table attache.turn_contexts (
  turn    bigint  not null,
  n       integer not null,           -- the order of the tail; what was refused stands behind
  context text    not null,
  feature text    not null default '',
  entity  text    not null default '', -- the key; empty without one
  link    text    not null,           -- the strongest link to it
  links   jsonb   not null,           -- every link, strongest first
  status  text    not null check (status in ('attached', 'stub', 'refused')),
  chars   integer not null default 0, -- code points of the block, 0 unless attached
  knob    text    not null default '', -- of a stub: what to raise
  why     text    not null default '', -- of a refusal; of a block, what its chars left out
  at      timestamptz not null default now(),
  primary key (turn, n)
);
create index turn_contexts_context on attache.turn_contexts (context, turn);
create index turn_contexts_at on attache.turn_contexts (at);

-- Links that outlive their turn, for the next one of the same session.
create table attache.context_holds (
  session bigint      primary key,
  turn    bigint      not null, -- the turn that left them
  holds   jsonb       not null,
  at      timestamptz not null default now()
);
