-- Turns of a window are counted by their session without touching their bytes.
drop index attache.exchanges_at;
create index exchanges_at on attache.exchanges (at) include (session);
