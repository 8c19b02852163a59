-- Posts: an intent before each call, its result after it. `sending` without a
-- result, left by a dead process, is a post whose fate is unknown; it is reported
-- and never repeated (decisions § 7.5). `call` is the tool call that posted, empty
-- for a turn's answer; `turn` is null for chrome, which the engine itself says.
create table attache.posts (
  id       bigint      generated always as identity primary key,
  turn     bigint,
  call     text        not null default '',
  part     integer     not null default 0,
  bot      text        not null,
  chat     bigint      not null,
  thread   bigint      not null,
  method   text        not null,
  params   bytea       not null,
  text     text        not null,
  format   text        not null,
  state    text        not null check (state in ('intent', 'sending', 'sent', 'refused', 'unknown', 'dropped')),
  tries    integer     not null default 0,
  executor text,
  messages bigint[]    not null default '{}',
  why      text        not null default '',
  at       timestamptz not null default now(),
  done     timestamptz
);
create unique index posts_part on attache.posts (turn, call, part) where turn is not null;
create index posts_open on attache.posts (id) where state in ('intent', 'sending');
create index posts_trouble on attache.posts (at) where state in ('unknown', 'refused');
create index posts_message on attache.posts using gin (messages);

-- Pauses that Telegram asked for; kept so that a restart does not run into them.
create table attache.holds (
  bot   text        not null,
  chat  bigint      not null,
  until timestamptz not null,
  primary key (bot, chat)
);
