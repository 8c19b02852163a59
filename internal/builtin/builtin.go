// Package builtin holds the tools that join two owners, such as one that decides
// by the rules of access and acts through the gateway. A tool that one package can
// serve alone is defined in that package.
//
// The owners come as plain functions in [Deps]. What a model reads about each tool
// stands in words/, beside the code that obeys it.
package builtin

import (
	"context"
	_ "embed"
	"strings"

	"attache"
	"attache/internal/tools"
)

//go:embed words/notification_send.md
var notificationWords string

// Deps are the functions through which the tools reach their owners. All are
// needed.
type Deps struct {
	// Ruled reports whether access.yaml has a rule for the place's chat under the
	// place's bot; `dm` counts for the people whom it lets in. On any doubt it says no.
	Ruled func(attache.Place) bool

	// Post says something durably: an intent is stored before the call and the
	// result after it. See PostRequest for its key and PostResult for what came of it.
	//
	// An *attache.Error of the kinds usage, refused or notfound says that nothing was
	// sent. After any other error nobody knows.
	Post func(context.Context, PostRequest) (PostResult, error)

	// Again tells what became of a call that an earlier execution of its turn posted
	// for, and goes on with it; false: it had not.
	Again func(ctx context.Context, turn int64, call string) (PostResult, bool, error)

	// Bots gives the bots whose rules name a chat, for a run that belongs to no bot.
	Bots func(attache.ChatID) []attache.BotID

	// Lets says why a call may not act on a place, "" when it may: what a pinned
	// place lets out (decisions § 3.15). The answer is one clause.
	Lets func(ctx context.Context, c attache.Call, to attache.Place) (refusal string, err error)

	// Origin gives what a call's post to a place remembers, nil for nothing; or one
	// clause on why it is not sent as it is (decisions § 2). It is asked for every
	// send: one that names nothing carries the reach of its run.
	Origin func(ctx context.Context, c attache.Call, to attache.Place, about attache.About) (o *attache.Origin, refusal string, err error)

	// Files is the folder below which each place has one for its files, see Folder;
	// Brain is the brain's. Neither needs to be there.
	Files, Brain string

	// Speak says words aloud, as Opus in Ogg. Its errors are *attache.Error.
	Speak func(ctx context.Context, c attache.Call, words string) ([]byte, error)
}

// PostRequest asks for a post. Turn and Call together are its key: the same key
// again posts nothing and gives the first one's result.
type PostRequest struct {
	Turn int64
	Call string           // the id of the tool call, unique within the turn
	Say  attache.Outgoing // Format is empty: the bot's own is taken
}

// PostResult is what became of a post, over all of its parts.
type PostResult struct {
	Place    attache.Place // where it went: a migrated group has another number now
	Messages []attache.MessageID
	Fate     attache.Fate    // sent only if every part was; unknown if that of any part is
	Why      string          // why it was not sent, for a person; empty when it was
	Origin   *attache.Origin // what the post remembers; nil for nothing
}

// Tools gives all tools of this package.
func Tools(d Deps) tools.Owned {
	return tools.Owned{Owner: "internal/builtin", Tools: []attache.Tool{d.notification(), d.file(), d.voice()}}
}

// words makes a description of an embedded file.
func words(file string) string { return strings.TrimSpace(file) }
