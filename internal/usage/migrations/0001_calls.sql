-- One row for each exchange with a model, a failed one too. Other programs may
-- read this table (interface § 6).
--
-- Null is "unknown" and never 0: tokens are null when the server reported none,
-- cost is null when the model has no price or the tokens are unknown. Cost is in
-- the currency of the brain's prices, exact.
create table attache.model_calls (
  id          bigint      generated always as identity primary key,
  turn        bigint      not null,           -- attache's own number of a turn; 0: none
  n           integer     not null,           -- which call of the turn, from 1
  bot         text        not null,
  chat        bigint      not null,           -- 0: a run without a place
  thread      bigint      not null,
  role        text        not null,
  profile     text        not null,           -- the entry under models: in MANIFEST
  model       text        not null,           -- its name at the provider
  try         integer     not null,           -- from 1, counted for each profile anew
  status      integer     not null,           -- HTTP status; 0: none arrived
  ms          bigint      not null,
  tokens_in   bigint,                         -- cached and cache_write are parts of it
  cached      bigint,
  cache_write bigint,
  out         bigint,                         -- reasoning is a part of it
  reasoning   bigint,
  cost        numeric,
  why         text        not null,           -- why it failed; empty: it did not
  sha256      text        not null default '', -- of the exact body that was sent
  bytes       integer     not null default 0,  -- its size
  at          timestamptz not null            -- when the exchange ended, by the process's clock
);
-- The same exchange written down twice, by a retry that could not know, is one row.
-- The same call made twice, after a crash, is two: both cost money.
create unique index model_calls_once on attache.model_calls (turn, n, profile, try, at);
create index model_calls_at on attache.model_calls (at);
create index model_calls_chat on attache.model_calls (chat, at);
