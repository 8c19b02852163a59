// Package attache holds the nouns that everyone in this program speaks, and this
// tour of the program.
//
// # The idea
//
// Attaché is a Telegram bot that brings the right papers to every conversation.
// A person keeps a brain: a folder of plain files with rules, roles and pages of
// instructions. A turn carries the pages that it is linked to and no others. What
// follows is how a message becomes a turn and a turn becomes posts.
//
// One process, one Postgres, one walk. A message comes in at the door, goes
// forward through named steps, and leaves as posts. Nothing calls back: each
// package imports only from the floors below its own, packages of one floor do not
// know each other, and arch_test.go holds the table.
//
// # One update, walked
//
// Somebody writes in a topic of a group. Telegram hands the update to a poller or
// to a webhook in internal/telegram/updates. Its raw JSON becomes a row before anything
// else happens; only then the poller's offset moves, or the webhook is answered.
// From here on a kill loses nothing.
//
// The intake in gateway takes kept rows in order, one by one, and has each decoded
// alone into a [Message] that stands in its [Place]: bot, chat and topic. An update
// of an unknown kind is counted. One that does not decode is kept and passed by. A
// message is judged: to be answered, observed, ignored, or from a chat that no rule
// lets in, whose text is emptied at once. Then one transaction stores the message,
// touches the waiting turn of its place and marks the raw row as handled.
//
// The turn waits for quiet. How long is engage's to say: an album comes in several
// updates, a long text is split by the client, a person sends three lines in a
// row. A place has at most one waiting and one running turn, which is how order is
// kept in a place while other places go on.
//
// When the time has come the turn runs as durable work in internal/engine: each
// step's outcome is journaled, so that a killed turn goes on from its last finished
// step, in this process's next life or in another one. It gathers every message
// that waits in its place and has gateway/mind answer them, with the brain as it was
// when the turn began: the rule of the place names a role, the role's static prompt
// and what was said before go in front as the bytes they always were, the input comes
// behind them, and at the very end the tail: the contexts that a fact ties to this turn,
// with the rows that their key lets in. The model is asked, the tools that it calls are
// run, and it is asked again, until it answers in words or a limit ends it. Each answer
// of the model and each call of a tool is journaled before the next. The answer is cut
// into [Part] values, each of which Telegram takes whole.
//
// Each part is posted in three moves: the intent becomes a row; the call waits for
// its turn at the bot's gate, which keeps Telegram's pace, and is made; the
// [Delivery] becomes a row, with the ids that Telegram gave. A call that certainly did
// not arrive is made again. One that may have arrived is reported and not repeated:
// of two evils, a line in the log is smaller than an answer said twice.
//
// # A post that remembers, and a run
//
// Not every turn answers somebody. A beat of a feature comes at its hour: heartbeat
// claims the slot, once in all processes, and in the same transaction gateway puts a
// [Run] into the lane of its place. Its [Reach] is decided there and stored with it: the
// contexts of its folder and above. Its input is the beat's own words, its session is
// its own, and what it posts stands in the place's history from then on.
//
// What a run says keeps its [Origin], in the transaction that records it as sent. Days
// later somebody replies to it: the turn that answers carries what the run had in reach,
// each context with the key that it was sent with. A run that would send what a reply
// brings back without its key is refused first, in words that say how to name the key.
//
// A place may be bound to a key, by access.yaml or by a tool. That is its [Pin], and
// whatever leads a context into a turn or a post asks it: links, holds, opens, replies,
// sends, previews. It is one method, Pin.Take, so that no path can forget it.
//
// # The packages, from the ground up
//
// Floor 0, words:
//
//   - the root: places, people, messages, posts, problems, secrets; no I/O
//
// Floor 1, machines; each hides one thing of the outside:
//
//   - internal/postgres: finds or fetches a Postgres, runs a private one, adopts it after a crash
//   - internal/store: the pool, transactions, migrations, leases, LISTEN; each owner of tables keeps its own SQL
//   - internal/engine: durable work, a thin port over DBOS Transact
//   - internal/telegram: calls of a bot, their pace and what became of them
//   - internal/telegram/updates: polling, webhook, and updates to messages
//   - internal/telegram/richtext: an answer's Markdown to parts that Telegram takes
//   - internal/brainfile: a brain's text files, read strictly: every mistake with line, column and the nearest right name
//   - internal/brainfile/entity: what files of beats, hooks and scenarios have in common: role, place, reach, and what wakes one
//   - internal/model: OpenAI-compatible models behind types of our own
//   - internal/views: state views and the statements of SQL tools, over logins that may do little
//   - internal/views/sql: the SQL of a brain's author: a tool's statement read, a schema.sql applied whole or not at all
//   - internal/cliagent: agents that keep their own state: one process a session, spoken to in lines of JSON
//
// Floor 2, deciders; each owns one question and answers it from plain values:
//
//   - access: access.yaml: who is let in where, which role answers, and what a chat is bound to
//   - engage: whether a message is for the bot, and when a burst of messages ends
//   - origins: what a post remembers of why it was sent, and what a reply to it brings back
//   - heartbeat: beats and their slots: when one is due, what was missed, and each fired once
//   - internal/hooks: hooks, those in files of scenarios among them: what wakes one, and what its run does; none fires yet
//   - internal/scenario: scenarios: what starts one, the task, and the pipeline beside it; none runs yet
//   - contexts: which contexts a turn is linked to, what the budgets leave of them, and the bytes of its tail
//   - constitution: MANIFEST.yaml, features, roles and principles: the brain's frame
//   - internal/prompt: what a model reads, in an order whose front never changes
//   - internal/conversation: what is said in a place, kept as the bytes that were sent and replayed as those
//   - internal/knowledge: the brain's packs of documents as one library: found by name, searched by words
//   - internal/knowledge/ods: one folder of documents: what they say of themselves and what they name
//   - internal/knowledge/lint: everything that is wrong in such a folder
//   - internal/knowledge/reading: what is to be read for one document, in order and within a number of tokens
//   - internal/tools: the one door to every tool: who may call it, whether its arguments fit, what comes back
//   - internal/usage: what each exchange with a model took and cost
//
// Between the floors:
//
//   - internal/brain: everything read from a brain's files as one whole, swapped as one pointer
//
// Floor 3, the walk:
//
//   - gateway: the order of the steps above, and the tables of updates, messages and turns
//   - gateway/posts: what is said: an intent before each call, its result after it, one fate a part
//   - gateway/inbox: updates as Telegram brought them, kept before they are confirmed
//   - gateway/aliases: the numbers that groups had before they became supergroups
//   - gateway/ledger: what was recorded of turns, posts and updates, for commands to read
//   - gateway/mind: how a turn is answered: prompt, calls of the model and of tools, and the text in the end
//   - gateway/carried: what turns carried: the ledger, the links that outlive a turn, and what contexts did over a time
//   - gateway/journal: what the requests of a turn are made of, the first time and for attache replay
//   - gateway/judge: what is done with a message: the verdict, with its why
//
// Floor 4, the hands, and stand-ins for the outside world, for tests and for a demo
// without keys:
//
//   - internal/web: what every page shares: the guard before it, the look, the sheet of a turn
//   - internal/web/pages: the operator's pages behind the login, and their JSON twins
//   - internal/web/playground: the page of `attache demo`, a small Telegram in the browser
//   - internal/builtin: tools that join two owners, such as sending by the rules of access through the gateway
//   - internal/doctor: what is wrong with a brain and the machine, where, what it means and what to do
//   - internal/telegramsim: a Bot API server in process; it checks every call against the Bot API as data, which lies below it
//   - internal/telegramsim/world: what stands behind it: users, chats, messages, and which bot is told of what
//   - internal/telegramsim/methods: what bots can do there, and what is refused in Telegram's words
//   - internal/rehearsal: a model that answers from what it was given
//
// Floor 5, the wiring:
//
//   - cmd/bot: flags, environment, signals, and what each command starts
//   - cmd/bot/program: the running program: bots, mind, tools and pages put together, each file one seam
//   - cmd/bot/operator: what the operator's pages show, read from several owners, behind the login or beside the demo
//   - cmd/bot/state: agent state in the running program: schemas applied, views read, statements of SQL tools carried out
//   - cmd/bot/lookback: what was, over windows of time, remembered once it is over
//   - cmd/bot/metrics: the counters of /metrics
//   - cmd/bot/beats: what attache beats prints
//   - cmd/bot/knobs: the knobs that hold, for attache doctor --verbose
//   - cmd/bot/explain: the dry run of one message, or of a beat's next run
//   - cmd/bot/sheets: the record of one turn as the pages and the playground show it
//   - cmd/bot/records: what commands print of recorded turns, and their requests made again
//   - cmd/bot/starter: the brain that attache init writes
//   - cmd/bot/demo: the people and chats of `attache demo`, spoken in at a terminal or in the browser
//
// Only tests import these:
//
//   - gateway/posts/poststest: a messenger that takes posts and answers as it is told
//   - internal/store/storetest: one Postgres a test binary, one database a test
//   - internal/model/modeltest: a scripted model over HTTP
//   - internal/cliagent/agenttest: a scripted agent that keeps its state
//   - internal/archivetest: tests whose cases are text archives: what goes in, and what it comes to
//   - internal/web/webtest: a real browser for the tests of pages
//
// # Where to look first
//
// How it behaves, told in small conversations: gateway/testdata/walks. A chat that gets
// no answer: the log names a chat without a rule once, and the verdict on each message
// with its why stands there under debug; it is gateway/judge's. What a model was
// told: internal/prompt. An answer that looks wrong in Telegram: the parts, in
// internal/telegram/richtext. Something said twice or not at all: the posts table and
// its fates, in gateway/posts. A test that must talk to Telegram: internal/telegramsim, never
// the network.
package attache
