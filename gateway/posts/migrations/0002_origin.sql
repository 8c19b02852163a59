-- What a post remembers of why it was sent (decisions § 2); null for none. It stands
-- with the intent, so that who goes on after a crash remembers the same.
alter table attache.posts add column origin jsonb;
