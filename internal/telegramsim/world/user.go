package world

import (
	"encoding/json"

	"attache/internal/telegramsim/updates"
	"attache/internal/telegramsim/wire"
)

// User is a person or a bot. The first three fields do not change.
type User struct {
	ID       int64  // Telegram's number
	Name     string // first name
	Username string // without @

	Robot *Robot // nil for a person
}

// Robot is what a user has more when it is a bot.
type Robot struct {
	Privacy  bool // whether it hears in groups only what is meant for it
	Queue    *updates.Queue
	Commands map[string]json.RawMessage // lists of commands by scope and language
	paced    []int64                    // when the bot sent, in milliseconds, for Rules.Pace
}

// NewRobot gives a bot its queue of updates, with privacy mode on as BotFather leaves it.
func (w *World) NewRobot() *Robot {
	return &Robot{Privacy: true, Commands: map[string]json.RawMessage{}, Queue: updates.NewQueue(w.rules.Queue)}
}

// Wire is the user as bots see one.
func (u *User) Wire() *wire.User {
	return &wire.User{ID: u.ID, IsBot: u.Robot != nil, First: u.Name, Username: u.Username}
}
