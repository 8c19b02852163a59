package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/store"
)

// Post reads the text of a bot's post by the number of one of its messages; false
// when the bot is not known to have posted it in that chat.
func Post(ctx context.Context, db *store.DB, bot attache.BotID, chat attache.ChatID, message attache.MessageID) (text string, ok bool, err error) {
	err = db.Pool().QueryRow(ctx, `select text from attache.posts where messages @> array[$3::bigint] and bot = $1 and chat = $2 limit 1`,
		bot, chat, message).Scan(&text)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("the post %d in %s cannot be read: %w", message, chat, err)
	}
	return text, true, nil
}
