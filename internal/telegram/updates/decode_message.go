package updates

import (
	"attache"
)

// groupAnonymousBot is the user whom Telegram puts into `from` for an anonymous
// admin. It is the same one in all groups, so it must never become an identity.
const groupAnonymousBot = 1087968824

// foreign reports whether a message has no place that Attaché could answer in as
// itself: a Business account's chat, a chat that it is only a guest of, or a
// message that has no number, because it is ephemeral or not sent yet.
func (in *inMessage) foreign() bool {
	return in.ID <= 0 || in.BusinessConnection != "" || in.GuestQuery != ""
}

// message puts a message into the gateway's words.
func (in *inMessage) message(bot attache.BotID, kind string, raw []byte) *attache.Message {
	m := &attache.Message{
		Place:   attache.Place{Bot: bot, Chat: attache.ChatID(in.Chat.ID), Thread: in.thread()},
		ID:      attache.MessageID(in.ID),
		Chat:    in.Chat.chat(),
		From:    speaker(in.From, in.SenderChat, &in.Chat),
		At:      moment(in.Date),
		Album:   clean(in.Album),
		Reply:   in.reply(),
		Media:   in.media(),
		Forward: in.Forward.name(),
		Channel: in.fromChannel(),
	}
	m.Text, m.Marks = clean(in.Text), marks(in.Entities)
	if in.Text == "" {
		m.Text, m.Marks = clean(in.Caption), marks(in.CaptionEntities)
	}
	if in.ViaBot != nil {
		m.ViaBot = clean(in.ViaBot.Username)
	}
	in.service(m)
	if in.Text == "" && len(m.Media) == 0 && m.Service == "" {
		fillRest(m, kind, raw)
	}
	switch {
	case bool(in.ReplyToStory) && m.Left == "":
		m.Left = "the story that it replies to"
	case bool(in.LivePhoto) && m.Left == "":
		m.Left = "the moving part of a live photo"
	}
	return m
}

// service sets what the service messages carry that the gateway acts on; the
// others are named by fillRest.
func (in *inMessage) service(m *attache.Message) {
	switch {
	case in.TopicCreated != nil:
		m.Service = "forum_topic_created"
		m.Topic = clean(in.TopicCreated.Name)
	case len(in.Joined) > 0:
		m.Service = "new_chat_members"
		for _, u := range in.Joined {
			if p := u.person(); p.ID != "" {
				m.Joined = append(m.Joined, p)
			}
		}
	case in.LeftBy != nil:
		m.Service = "left_chat_member"
		if p := in.LeftBy.person(); p.ID != "" {
			m.LeftBy = &p
		}
	}
}

// speaker says whose words a message is (decisions § 6.2): the chat that speaks as
// itself, else the user. A channel's post without either is the channel's own.
func speaker(from *inUser, sender, chat *inChat) attache.Person {
	switch {
	case sender != nil && sender.ID != 0:
		return sender.person()
	case from != nil && from.ID == groupAnonymousBot:
		return chat.person()
	case from != nil && from.ID != 0:
		return from.person()
	case chat.Type == "channel":
		return chat.person()
	}
	return attache.Person{}
}

// fromChannel reports whether the message is a channel's: posted there, forwarded
// automatically, or written in the name of another chat than the one it stands in.
// The chat itself as sender is an anonymous admin.
func (in *inMessage) fromChannel() bool {
	return in.Chat.Type == "channel" || in.IsAutoForward ||
		in.SenderChat != nil && in.SenderChat.ID != 0 && in.SenderChat.ID != in.Chat.ID
}

// topical reports whether message_thread_id names a topic (decisions § 7.2). In an
// ordinary group Telegram sends one for every chain of replies, which is none.
func (in *inMessage) topical() bool {
	return in.ThreadID > 0 && (in.IsTopic || in.Chat.Type == "private")
}

func (in *inMessage) thread() attache.ThreadID {
	return threadOf(in.ThreadID, in.IsTopic, in.Chat.Type)
}

// threadOf gives the topic of an address. General is 1 on the wire and has no
// number here (decisions § 1).
func threadOf(id int64, isTopic bool, chatType string) attache.ThreadID {
	if id <= 1 || !isTopic && chatType != "private" {
		return 0
	}
	return attache.ThreadID(id)
}

// reply finds what a message natively replies to (decisions § 3.9). The first
// messages of a topic come with its creation message as their parent, which nobody
// replied to; a reply into another chat is then found in external_reply.
func (in *inMessage) reply() *attache.Reply {
	quote := ""
	if in.Quote != nil {
		quote = clean(in.Quote.Text)
	}
	if p := in.ReplyTo; p != nil && p.ID > 0 && !bool(p.TopicCreated) && !(in.topical() && p.ID == in.ThreadID) {
		r := &attache.Reply{
			ID:       attache.MessageID(p.ID),
			From:     speaker(p.From, p.SenderChat, &p.Chat),
			At:       moment(p.Date),
			Text:     p.words(),
			Quote:    quote,
			External: p.Chat.ID != 0 && p.Chat.ID != in.Chat.ID,
		}
		if r.External {
			r.Chat = attache.ChatID(p.Chat.ID)
		}
		return r
	}
	if e := in.External; e != nil {
		r := &attache.Reply{
			ID:       attache.MessageID(max(e.ID, 0)),
			From:     e.Origin.person(),
			At:       moment(e.Origin.Date),
			Quote:    quote,
			External: e.ID <= 0 || e.Chat == nil || e.Chat.ID != in.Chat.ID, // another topic of this chat is not another chat
		}
		if r.External && e.Chat != nil {
			r.Chat = attache.ChatID(e.Chat.ID)
		}
		return r
	}
	return nil
}

// marks takes over the entities as they are: their ranges are checked by who cuts.
func marks(in []inMark) []attache.Mark {
	if len(in) == 0 {
		return nil
	}
	out := make([]attache.Mark, len(in))
	for i, e := range in {
		out[i] = attache.Mark{
			Kind: clean(e.Type), Offset: e.Offset, Length: e.Length,
			URL: clean(e.URL), User: e.User.person().ID, Language: clean(e.Language),
		}
	}
	return out
}

// media gives the files of a message. Of a photo's sizes it is the largest; an
// animation comes as a document too, for old programs, and is taken once.
func (in *inMessage) media() []attache.Media {
	var out []attache.Media
	add := func(kind string, f *inFile) {
		if f == nil || f.FileID == "" {
			return
		}
		name := clean(f.Name)
		if kind == "sticker" {
			name = clean(f.Emoji)
		}
		out = append(out, attache.Media{
			Kind: kind, FileID: clean(f.FileID), Unique: clean(f.UniqueID),
			Name: name, MIME: clean(f.MIME), Size: max(f.Size, 0),
		})
	}
	add("photo", largest(in.Photo))
	add("voice", in.Voice)
	add("audio", in.Audio)
	add("video", in.Video)
	add("video_note", in.VideoNote)
	add("animation", in.Animation)
	if in.Animation == nil {
		add("document", in.Document)
	}
	add("sticker", in.Sticker)
	return out
}

// largest picks the size with the most pixels, whatever the order they come in.
func largest(sizes []inFile) *inFile {
	var best *inFile
	for i := range sizes {
		s := &sizes[i]
		if s.FileID != "" && (best == nil || s.pixels() >= best.pixels()) {
			best = s
		}
	}
	return best
}

func (f *inFile) pixels() float64 { return float64(f.Width) * float64(f.Height) }
