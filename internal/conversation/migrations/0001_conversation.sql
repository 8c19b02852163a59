-- What is said in one place. Whatever a model is sent is bytes and not text: it is
-- replayed byte for byte, and Postgres's text does not take every byte.

-- Instruction epochs: each static prompt with its tool list, once. Equal ids are
-- equal bytes (matrix J4).
create table attache.epochs (
  id    text        primary key,
  text  bytea       not null,
  tools bytea       not null,
  at    timestamptz not null default now()  -- when it was first used
);

-- Sessions: at most one is open in a place. An ended one is kept for the turns
-- that began in it, which may still run.
create table attache.sessions (
  id       bigint      generated always as identity primary key,
  bot      text        not null,
  chat     bigint      not null,
  thread   bigint      not null,
  role     text        not null,
  engine   text        not null,
  key      text        not null,            -- what the place is pinned to; empty: nothing
  snapshot bytea       not null,
  first    bigint      not null,            -- the turn that opened it
  since    bigint      not null default 0,  -- earlier turns were cut off its history
  opened   text        not null,            -- why: first, or why the one before it ended
  started  timestamptz not null default now(),
  last     timestamptz not null default now(), -- the latest beginning or answer
  ended    timestamptz,
  why      text        not null default ''  -- why it ended: key, role, engine, idle, new, migrated
);
create unique index sessions_open on attache.sessions (bot, chat, thread) where ended is null;
create index sessions_place on attache.sessions (bot, chat, thread, ended);

-- Exchanges: what one turn was sent and what it answered. The place is the
-- session's.
create table attache.exchanges (
  turn     bigint      primary key,
  session  bigint      not null references attache.sessions,
  epoch    text        not null references attache.epochs,
  snapshot bytea       not null,
  input    bytea       not null,
  tail     bytea,                           -- null: what the turn carries was not chosen yet
  answer   bytea,                           -- null: not answered, or not yet
  tokens   integer     not null default 0,  -- what a replay of it takes; 0: not counted
  dropped  boolean     not null default false,
  at       timestamptz not null default now()
);
create index exchanges_session on attache.exchanges (session, turn);
create index exchanges_epoch on attache.exchanges (epoch);
create index exchanges_at on attache.exchanges (at);

-- Asides: what a run posted into the place (decisions § 3.11). One waits until the
-- next turn of the place begins and stands before that turn from then on. Heard by
-- a turn under another key, it has a turn and no session, and is never shown.
create table attache.asides (
  id      bigint      generated always as identity primary key,
  bot     text        not null,
  chat    bigint      not null,
  thread  bigint      not null,
  key     text        not null,
  mark    text        not null,
  text    bytea       not null,
  turn    bigint,
  session bigint,
  at      timestamptz not null default now()
);
create index asides_waiting on attache.asides (bot, chat, thread) where turn is null;
create index asides_session on attache.asides (session, turn) where session is not null;
create index asides_at on attache.asides (at);
