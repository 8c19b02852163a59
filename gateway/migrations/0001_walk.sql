-- The walk of an update: kept raw, read into a message, merged into a turn,
-- answered by posts, whose tables are in gateway/posts. Every table here is the
-- gateway's.

-- Updates as they arrived. `raw` is bytes: what a stranger sends need not be text
-- that Postgres takes. It is emptied when no rule lets the chat in (decisions § 6.1).
create table attache.updates (
  bot       text        not null,
  update_id bigint      not null,
  seq       bigint      generated always as identity,
  raw       bytea       not null,
  kind      text        not null default '',
  state     text        not null default 'new' check (state in ('new', 'handled', 'broken')),
  why       text        not null default '',
  at        timestamptz not null default now(),
  primary key (bot, update_id)
);
create index updates_new on attache.updates (bot, seq) where state = 'new';
create index updates_broken on attache.updates (at) where state = 'broken';

-- Messages that a turn takes or that a room remembers. `turn` is null while they
-- wait.
create table attache.messages (
  seq     bigint      generated always as identity primary key,
  bot     text        not null,
  chat    bigint      not null,
  thread  bigint      not null,
  message bigint      not null,
  role    text        not null check (role in ('input', 'room')),
  person  text        not null,
  body    jsonb       not null,
  turn    bigint,
  at      timestamptz not null default now(),
  unique (bot, chat, message)
);
create index messages_waiting on attache.messages (bot, chat, thread, seq) where turn is null;
create index messages_turn on attache.messages (turn) where turn is not null;

-- Turns: at most one waits and one runs in a place (architecture § 3).
create table attache.turns (
  id       bigint      generated always as identity primary key,
  bot      text        not null,
  chat     bigint      not null,
  thread   bigint      not null,
  kind     text        not null default 'chat',
  state    text        not null check (state in ('waiting', 'running', 'answered', 'silent', 'failed', 'stopped', 'refused')),
  due      timestamptz not null,
  opened   timestamptz not null default now(),
  started  timestamptz,
  ended    timestamptz,
  executor text,
  attempt  integer     not null default 0,
  stop     boolean     not null default false,
  why      text        not null default '',
  answer   jsonb
);
create unique index turns_waiting on attache.turns (bot, chat, thread) where state = 'waiting';
create unique index turns_running on attache.turns (bot, chat, thread) where state = 'running';
create index turns_open on attache.turns (due) where state in ('waiting', 'running');
create index turns_place on attache.turns (bot, chat, thread, id);
create index turns_ended on attache.turns (ended) where ended is not null;

-- Where a group went when it became a supergroup (decisions § 3.8).
create table attache.chat_aliases (
  bot      text        not null,
  old_chat bigint      not null,
  new_chat bigint      not null,
  at       timestamptz not null default now(),
  primary key (bot, old_chat)
);

-- Living processes. One whose beat stops and whose lock is free is dead, and its
-- work goes to a living one (architecture § 3).
create table attache.executors (
  id      text        primary key,
  started timestamptz not null default now(),
  beat    timestamptz not null default now()
);
