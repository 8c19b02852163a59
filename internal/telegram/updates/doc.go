// Package updates receives what Telegram tells a bot.
//
// An attache.RawUpdate is stored by an Inbox before anything else: a Poller
// confirms it to Telegram only then, a Webhook answers 200 only then (decisions
// § 7.1). Its JSON is mended so that the database always takes it (raw.go). Its
// meaning is read later, by Decode, each update alone: an attache.Update, whose
// Message stands in its Place.
package updates
