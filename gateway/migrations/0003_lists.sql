-- Lists of turns: by chat of any bot, and the few that a person looks for. Those of
-- the common state and kind are found by the primary key.
create index turns_chat on attache.turns (chat, id);
create index turns_ends on attache.turns (state, id) where state in ('silent', 'failed', 'stopped', 'refused');
create index turns_kind on attache.turns (kind, id) where kind <> 'chat';
