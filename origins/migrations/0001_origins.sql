-- What each message that was sent from a run, or with about, remembers of why: what
-- a reply to it brings back (text 1 § 2.1). A message without a row was about
-- nothing. Other programs may read this table (interface § 6).
create table attache.message_origins (
  bot     text        not null,
  chat    bigint      not null,
  message bigint      not null,               -- below 0: of the group that this supergroup was before
  thread  bigint      not null,
  run     text        not null default '',    -- such as heartbeat:daily; empty: a chat turn's send with about
  feature text        not null default '',    -- the run's
  reach   jsonb       not null,               -- [{"context": …, "entity": …}], entity only with a key
  lines   boolean     not null default false, -- an owner's own words from the chats page; never expires
  keep    boolean     not null default false, -- something waits for an answer to it; does not expire meanwhile
  at      timestamptz not null default now(), -- when the post's result was stored
  primary key (bot, chat, message)
);
create index message_origins_at on attache.message_origins (at) where not lines and not keep;
