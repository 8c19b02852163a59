-- The file of a post, from its intent until what became of it is recorded: a process
-- that goes on after a crash has the same bytes, whatever became of where they came
-- from. Telegram has them afterwards, so they are not kept here.
create table attache.post_files (
  post bigint primary key references attache.posts on delete cascade,
  name text   not null,
  mime text   not null,
  data bytea  not null
);
