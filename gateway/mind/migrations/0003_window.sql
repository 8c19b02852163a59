-- What contexts did over a window (text 1 § 5.1). `again` marks a line whose context
-- had a line of the same status in the same turn before, as with two tickets, so that
-- turns are counted without looking for doubles.
alter table attache.turn_contexts add column role text not null default '';
alter table attache.turn_contexts add column again boolean not null default false;
drop index attache.turn_contexts_at;
create index turn_contexts_at on attache.turn_contexts (at) include (role, context, link, status, again, knob, chars);
