package methods

import "strconv"

// Refusal is a Bot API error answer. The texts are Telegram's to the letter wherever a bot
// may read them: some are all by which a client can know what happened.
type Refusal struct {
	Code       int
	Text       string // description, with its "Bad Request: " prefix
	RetryAfter int    // seconds, with 429
	MigrateTo  int64  // the number of the supergroup that a group has become
}

// Error gives the description.
func (r *Refusal) Error() string { return r.Text }

// BadRequest is a 400.
func BadRequest(text string) error { return &Refusal{Code: 400, Text: "Bad Request: " + text} }

// Conflict is the 409 of a second poller, or of a poller beside a webhook.
func Conflict(text string) error { return &Refusal{Code: 409, Text: "Conflict: " + text} }

// Flood is the 429 of a bot that sends too fast.
func Flood(seconds int) error {
	return &Refusal{Code: 429, Text: "Too Many Requests: retry after " + strconv.Itoa(seconds), RetryAfter: seconds}
}

// forbidden is the 403 of a chat that the bot has no place in any more.
func forbidden(text string) error { return &Refusal{Code: 403, Text: "Forbidden: " + text} }
