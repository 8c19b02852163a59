-- What context_bind ties to chats (text 1 § 2.2). What access.yaml binds stands in
-- that file alone and is no row here.
create table attache.bindings (
	id      bigint      generated always as identity primary key,
	context text        not null,
	chat    bigint      not null,
	thread  bigint,                          -- null: the whole chat; 0: General
	bot     text        not null default '', -- '': every bot of the brain
	entity  text        not null default '', -- '': a context that is about no entity
	role    text        not null,            -- whose turn bound it last
	turn    bigint      not null,            -- that did; 0: none
	at      timestamptz not null default now(),
	-- One entity a context at one spot: binding again replaces it (matrix D6).
	unique nulls not distinct (chat, context, thread, bot)
);
