package main

// The commands' help beyond their flags: what they do in more than a line, and
// examples to copy.

const introduction = `Attaché brings the right papers to every conversation: a Telegram bot gateway with a context engine.

You keep what a bot should know and do in a folder of plain files, the brain. First steps:

  attache demo                 talk to a bot here and now: no token, no key
  attache init brain           write a small commented brain
  attache doctor               check it
  attache run                  run it on Telegram, with TELEGRAM_BOT_TOKEN and OPENAI_API_KEY set

A flag of the same meaning wins over an environment variable. A secret may be given as NAME_FILE, a file that holds it.`

func (runCommand) Help() string {
	return `It needs a token for each bot of the brain (from @BotFather) and a model:

  TELEGRAM_BOT_TOKEN=123456:ABC… OPENAI_API_KEY=sk-… attache run --brain brain

  TELEGRAM_BOT_TOKEN_<BOT>     the token of one bot, where the brain has several
  OPENAI_BASE_URL              any server that speaks chat completions
  OPENAI_MODEL                 which model (gpt-5-mini)
  DATABASE_URL                 a Postgres of your own; without it a private one is started

Its log names, once each, chats and people that no rule of access.yaml lets in, with
what to add. Files of the brain are read again when they are saved. Ctrl-C ends it; what
was in progress goes on with the next start.`
}

func (demoCommand) Help() string {
	return `The whole program runs on a small Telegram of its own, with the example brain. It
prints the address of a page in which you speak as several people and see, beside each
answer, what the turn carried. A built-in rehearsal model answers and tells what it was
given; with OPENAI_API_KEY (or OPENAI_BASE_URL) set, that model answers.

  attache demo                       the example, at http://127.0.0.1:8484/
  attache demo --listen 127.0.0.1:9000
  attache demo --terminal            without a browser
  attache demo --brain ./brain       your own brain; its bot must be called nova

It forgets everything at its start, and never touches the database of DATABASE_URL.`
}

func (initCommand) Help() string {
	return `For example:

  attache init brain                      write it
  attache doctor --brain brain            check it
  attache run --brain brain               run it, with TELEGRAM_BOT_TOKEN and OPENAI_API_KEY set

Each file says in comments what it is for. Everything in the folder is yours to change;
the program itself only writes to .attache in it.`
}

func (turnsCommand) Help() string {
	return `A turn is one merged input and its answer. A line is: id, time, place (bot/chat/topic),
kind, status, milliseconds, contexts, oldest first.

  attache turns                              the latest hundred
  attache turns 12                           what was said, what was posted, and what became of it
  attache turns --chat tg:chat:-1001 --json  those of one chat, for another program

It may be used beside a running bot, with the same --brain and --data.`
}

func (replayCommand) Help() string {
	return `Each request of the turn is made again from what was written down (the session's
prompt, history, input, tail, the model's answers and what its tools gave) and its sum is
compared with that of the bytes that were sent. Exit code 0: all are the same.

  attache replay 12
  attache replay 12 --out requests      the rebuilt bodies as files, to read or to send again
  attache replay 12 --json | jq .same

It works as long as the turn is kept (retention.turns in MANIFEST.yaml). It asks no model.
Files that came with a message are not kept, so a request with files differs.`
}

func (explainCommand) Help() string {
	return `It answers "why is this (not) here?": the rule and its line, the role, whether the
message is for the bot, what the place is held to, each context that is linked, refused or
has no room, with the reason, and the tail byte for byte. It calls no model, sends nothing
and writes nothing.

  attache explain --chat tg:chat:-1001 "what is open?"
  attache explain --bot nova --chat 111111 --from 111111 hello
  attache explain --chat=-1001 --reply-to 812 "and this one?"
  attache explain --chat=-1001 --thread 42 --json hello | jq .links
  attache explain --run heartbeat:daily

With --run it tells of a beat's next run: what it carries, and what a reply to its answer
would bring back. It may be used beside a running bot, and without one: then it cannot read
state views, nor know what earlier turns left and what tools bound.`
}

func (doctorCommand) Help() string {
	return `It looks at the files of the brain, the models, the tokens, what Telegram delivers to
each bot, and the records of posts. A finding is a line:

  LEVEL  CHECK  FILE:LINE:COLUMN: what is wrong; what to do

Levels: fail (exit code 1), warn, note, and skipped for a check that could not look.

  attache doctor --brain brain
  attache doctor --json | jq '.findings[] | select(.level == "fail")'`
}

func (odsCommand) Help() string {
	return `Documents are Markdown files that say in their frontmatter what must be read before
them (Open Document Spec 0.1). A folder of them has an ods.toml:

  spec = "0.1"
  ignore = ["archive/"]

A pack of a brain, knowledge/<pack>/, is such a folder without one. See docs/knowledge.md.`
}

func (odsLintCommand) Help() string {
	return `A finding is a line:

  PATH:LINE:COLUMN RULE LEVEL: what is wrong; what to do

Levels: error (exit code 1) and warning, which never fails.

  attache ods lint                       the workspace around this folder
  attache ods lint brain/knowledge/shop  a pack of a brain`
}

func (odsContextCommand) Help() string {
	return `It follows depends from the document, nearest first, and prints each file with why it is
there and its tokens: what must be read first stands first, the document itself last. The
document is reserved; then come its own prerequisites, what it loads, those further away,
code and related documents, each whole or not at all. What is left out is named below the
total, with the reason. Private documents are left out without --privileged.

  attache ods context features/billing/refunds --max-tokens 4000
  attache ods context refunds.md --with-code --include-related
  attache ods context refunds --json | jq '.files[].path'
  attache ods context shop/returns       in no workspace: a document of the brain's knowledge

A document that is unknown, private, ignored, or alone over the limit gives exit code 1 and
no output; stderr says why.`
}
