-- What an agent that keeps its state was told, by the conversation's session: so that
-- it is told only what is new, and everything after a crash in the middle of a turn
-- or under another session of its own.
create table attache.cli_sessions (
  session bigint      primary key,
  agent   text        not null,               -- the agent's own name of the session; empty before it gave one
  turn    bigint      not null,               -- that it was asked last
  part    integer     not null default 1,     -- of that turn, from 1: a run whose words were refused is asked again
  certain boolean     not null,               -- sent is what it has; else it may have it, or some of it, or none
  sent    jsonb       not null,               -- blocks with digests of their parts
  reply   bytea,                              -- JSON of how that turn ended; null while it has not
  at      timestamptz not null default now()
);
create index cli_sessions_at on attache.cli_sessions (at);
