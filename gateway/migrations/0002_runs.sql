-- Runs: turns that are the work of an entity and answer no message. They wait in
-- the lane of their place, any number of them, beside the one turn that gathers
-- messages there. A run without a place (chat 0) shares no lane with others.
alter table attache.turns add column task jsonb;
drop index attache.turns_waiting;
create unique index turns_waiting on attache.turns (bot, chat, thread) where state = 'waiting' and task is null;
drop index attache.turns_running;
create unique index turns_running on attache.turns (bot, chat, thread) where state = 'running' and chat <> 0;
