package updates

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"attache"
)

// maxUpdateID bounds what is taken for an update's id. Telegram's own are 32 bits
// wide; the bound keeps "id + 1", the next offset, from running over.
const maxUpdateID = 1 << 52

// Decode reads one update as Telegram sent it. Kinds that Attaché does not know,
// and messages that have no place it could answer in (Business, guest, ephemeral:
// decisions § 7.11), come back with their Kind and no pointer set. Only the fields
// that Attaché uses are looked at, so a surprise elsewhere in the update does no
// harm; one in them is an error, and then ID and Kind are still given as far as
// they can be read, so that the update can be kept, counted and passed by.
//
// The texts are valid UTF-8 without NUL. Marks are as Telegram gave them and may
// lie outside their text: cut with attache.UTF16Slice.
func Decode(bot attache.BotID, raw []byte) (attache.Update, error) {
	var in inUpdate
	err := json.Unmarshal(raw, &in)
	u := attache.Update{Bot: bot, ID: in.ID}
	if err == nil && (in.ID <= 0 || in.ID > maxUpdateID) {
		err = errors.New("it has no usable update_id")
	}
	if err != nil {
		u.ID, _ = updateID(raw)
		u.Kind = kindOf(raw)
		return u, undecodable(u, err)
	}
	if err := fill(&u, &in, raw); err != nil {
		return attache.Update{Bot: bot, ID: u.ID, Kind: u.Kind}, undecodable(u, err)
	}
	return u, nil
}

// undecodable names the update in an error. The text is Go's own about types and
// offsets, never a piece of what the person wrote.
func undecodable(u attache.Update, err error) error {
	kind := u.Kind
	if kind == "" {
		kind = "no kind"
	}
	return fmt.Errorf("update %d (%s) of %s cannot be decoded: %w", u.ID, kind, u.Bot, err)
}

// fill sets Kind and the one pointer that belongs to it.
func fill(u *attache.Update, in *inUpdate, raw []byte) (err error) {
	switch {
	case in.Message != nil:
		u.Kind = "message"
		err = fillMessage(u, in.Message, raw)
	case in.EditedMessage != nil:
		u.Kind = "edited_message"
		u.Edited, err = editOf(u, in.EditedMessage, raw)
	case in.ChannelPost != nil:
		u.Kind = "channel_post"
		err = fillMessage(u, in.ChannelPost, raw)
	case in.EditedChannelPost != nil:
		u.Kind = "edited_channel_post"
		u.Edited, err = editOf(u, in.EditedChannelPost, raw)
	case in.CallbackQuery != nil:
		u.Kind = "callback_query"
		u.Press, err = in.CallbackQuery.press(u.Bot)
	case in.MyChatMember != nil:
		u.Kind = "my_chat_member"
		u.Member, err = in.MyChatMember.change(true)
	case in.ChatMember != nil:
		u.Kind = "chat_member"
		u.Member, err = in.ChatMember.change(false)
	case in.Stopped != nil:
		u.Kind = "stopped_message_generation"
		u.Stopped, err = in.Stopped.place(u.Bot)
	default:
		if u.Kind = kindOf(raw); u.Kind == wrapped {
			u.Kind = ""
			return errors.New("it is no JSON, or nested beyond reason")
		}
	}
	return err
}

// fillMessage sets Message, or Migrated for the service message about a move: both
// the old group's and the new one's say the same.
func fillMessage(u *attache.Update, in *inMessage, raw []byte) error {
	if in.foreign() {
		return nil
	}
	if in.Chat.ID == 0 {
		return errors.New("the message has no chat")
	}
	chat := attache.ChatID(in.Chat.ID)
	switch {
	case in.MigrateTo != 0:
		u.Migrated = &attache.Migration{From: chat, To: attache.ChatID(in.MigrateTo)}
	case in.MigrateFrom != 0:
		u.Migrated = &attache.Migration{From: attache.ChatID(in.MigrateFrom), To: chat}
	default:
		u.Message = in.message(u.Bot, u.Kind, raw)
	}
	return nil
}

// editOf reads an edited message. Telegram also sends one when only something
// changed that Attaché does not see; that is for the gateway to notice.
func editOf(u *attache.Update, in *inMessage, raw []byte) (*attache.Message, error) {
	if in.foreign() {
		return nil, nil
	}
	if in.Chat.ID == 0 {
		return nil, errors.New("the message has no chat")
	}
	m := in.message(u.Bot, u.Kind, raw)
	if m.EditedAt = moment(in.EditDate); m.EditedAt.IsZero() {
		m.EditedAt = m.At
	}
	return m, nil
}

// press reads a pressed button. A post that Telegram no longer shows has a chat
// and a number only; one sent in inline mode has not even these, and its Place
// then has no chat: such a press can be answered, but is about no conversation.
func (in *inPress) press(bot attache.BotID) (*attache.Press, error) {
	if in.ID == "" || in.From.ID == 0 {
		return nil, errors.New("the press has no id or no person")
	}
	p := &attache.Press{ID: clean(in.ID), From: in.From.person(), Data: clean(in.Data), Place: attache.Place{Bot: bot}}
	if in.Message == nil {
		return p, nil
	}
	if in.Message.BusinessConnection != "" {
		return nil, nil
	}
	m := in.Message
	p.Place.Chat = attache.ChatID(m.Chat.ID)
	p.Place.Thread = threadOf(m.ThreadID, m.IsTopic, m.Chat.Type)
	p.Message = attache.MessageID(m.ID)
	for _, row := range m.Markup.Rows {
		for _, b := range row {
			if p.Text == "" && in.Data != "" && b.Data == in.Data {
				p.Text = clean(b.Text)
			}
		}
	}
	return p, nil
}

// change reads a member's new standing. A restricted member may be outside the
// chat, which Telegram says in a second field; here that is "left", so that the
// two words alone tell whether someone came or went.
func (in *inMember) change(self bool) (*attache.MemberChange, error) {
	if in.Chat.ID == 0 || in.New.User.ID == 0 {
		return nil, errors.New("the change has no chat or no member")
	}
	return &attache.MemberChange{
		Chat:   attache.ChatID(in.Chat.ID),
		Person: in.New.User.person(),
		Self:   self,
		Was:    in.Old.standing(),
		Now:    in.New.standing(),
	}, nil
}

func (s inStanding) standing() string {
	if s.Status == "restricted" && s.IsMember != nil && !*s.IsMember {
		return "left"
	}
	return clean(s.Status)
}

// place reads where a person stopped a streaming answer.
func (in *inStopped) place(bot attache.BotID) (*attache.Place, error) {
	if in.Chat.ID == 0 {
		return nil, errors.New("the stop has no chat")
	}
	return &attache.Place{
		Bot:    bot,
		Chat:   attache.ChatID(in.Chat.ID),
		Thread: threadOf(in.ThreadID, in.ThreadID != 0, in.Chat.Type),
	}, nil
}

// kindOf finds the kind of an update that Decode has no form for: the name of its
// field beside update_id, the first by name should there be several.
func kindOf(raw []byte) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return ""
	}
	kinds := make([]string, 0, 1)
	for name := range fields {
		if name != "update_id" {
			kinds = append(kinds, name)
		}
	}
	if len(kinds) == 0 {
		return ""
	}
	kind := clean(slices.Min(kinds))
	return strings.ToValidUTF8(kind[:min(len(kind), 64)], "")
}

// moment reads Unix seconds. What is no date of this era, and could not be written
// as JSON either, is no moment.
func moment(seconds int64) time.Time {
	const lastOf9999 = 253402300799
	if seconds <= 0 || seconds > lastOf9999 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// clean makes a text storable: PostgreSQL takes neither NUL nor invalid UTF-8. The
// replacement is one UTF-16 unit like a NUL, so marks keep their places.
func clean(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
