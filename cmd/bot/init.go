package main

import "attache/cmd/bot/starter"

type initCommand struct {
	Dir   string `arg:"" name:"dir" help:"The folder to write: a new one, or an empty one."`
	Owner int64  `placeholder:"NUMBER" help:"Your number in Telegram, if you know it; the bot's log names it when you write to the bot."`
}

// Run writes the brain and says what to type next.
func (c initCommand) Run(io stdio) error { return starter.Write(io.out, c.Dir, c.Owner) }
