-- Calls of tools: `started` before the call and `done` with its result after it,
-- so that a call whose result a crash hid is known as such.
create table attache.tool_calls (
  turn   bigint      not null,
  call   text        not null,
  tool   text        not null,
  args   text        not null,
  state  text        not null check (state in ('started', 'done')),
  result text        not null default '',
  at     timestamptz not null default now(),
  done   timestamptz,
  primary key (turn, call)
);
create index tool_calls_at on attache.tool_calls (at);
