-- What a turn's requests were made of, besides the bytes that internal/conversation
-- keeps: enough to make them again (attache replay). Row 0 is what holds for all of
-- them, row n what was added behind request n: the model's answer with what its
-- tools gave. Bytes of JSON, since a model may write what Postgres's text refuses.
create table attache.turn_journal (
  turn  bigint      not null,
  n     integer     not null,
  entry bytea       not null,
  at    timestamptz not null default now(),
  primary key (turn, n)
);
create index turn_journal_at on attache.turn_journal (at);
