package telegramsim

import (
	"encoding/json"
	"fmt"
	"strings"

	"attache"
	"attache/internal/telegramsim/format"
)

// newPost makes a message of a send: chat, right to speak, pace, thread and parent. It
// is in no chat yet: what the send says may still be refused, and a refused send
// leaves nothing behind but its place in the pace.
func (s *Server) newPost(req *request) (*message, error) {
	c, err := s.reach(req)
	if err != nil {
		return nil, err
	}
	if c.status(req.bot) == "restricted" || c.Kind == channel && !c.admin(req.bot) {
		return nil, badRequest("not enough rights to send text messages to the chat")
	}
	thread := req.params.Int("message_thread_id")
	if err := c.open(req.bot, thread); err != nil {
		return nil, err
	}
	m := &message{by: req.bot, method: req.method}
	m.From = req.bot.wire()
	if c.Kind == channel {
		w := c.wire()
		m.From, m.SenderChat = nil, &w
	}
	if err := s.reply(req, c, m, thread); err != nil {
		return nil, err
	}
	m.ReplyMarkup = shownMarkup(req.params.Raw("reply_markup"))
	return m, s.pace(req.bot, c)
}

// open refuses a thread that does not exist, and a closed one to all but admins.
func (c *Chat) open(bot *User, thread int64) error {
	if thread == 0 {
		return nil
	}
	t := c.topics[thread]
	if t == nil || !c.forum {
		return badRequest("message thread not found")
	}
	if t.closed && !c.admin(bot) {
		return badRequest("TOPIC_CLOSED")
	}
	return nil
}

// replyParameters are the parts of ReplyParameters that decide something here; the
// schema has checked the rest.
type replyParameters struct {
	MessageID int64           `json:"message_id"`
	ChatID    json.RawMessage `json:"chat_id"`
	Allow     bool            `json:"allow_sending_without_reply"`
	Quote     string          `json:"quote"`
}

// reply finds the parent that a send names. Replies into another chat are never
// allowed to go without their parent.
func (s *Server) reply(req *request, c *Chat, m *message, thread int64) error {
	var r replyParameters
	if err := req.params.Decode("reply_parameters", &r); err != nil {
		return badRequest(err.Error())
	}
	if r.MessageID == 0 {
		c.place(m, thread, nil)
		return nil
	}
	from := c
	if r.ChatID != nil {
		if from = s.lookup(req.bot, strings.Trim(string(r.ChatID), `"`)); from == nil {
			return badRequest("chat not found")
		}
	}
	parent := from.find(r.MessageID)
	switch {
	case parent == nil && (!r.Allow || from != c):
		return badRequest("message to be replied not found")
	case parent != nil && r.Quote != "" && !strings.Contains(parent.Text+parent.Caption+parent.rich, r.Quote):
		return badRequest("QUOTE_TEXT_INVALID")
	case parent != nil && from != c:
		c.place(m, thread, nil)
		return m.external(Line{ReplyIn: from, ReplyTo: attache.MessageID(r.MessageID)})
	}
	if parent != nil && thread == 0 && parent.IsTopic && c.forum {
		thread = parent.Thread // a reply goes where its parent stands
	}
	c.place(m, thread, parent)
	if parent != nil && r.Quote != "" {
		m.Quote = &wireQuote{Text: r.Quote, Manual: true}
	}
	return nil
}

// deliver puts a finished post into its chat. A client takes the drafts of a place
// away when the message that they were of comes.
func (s *Server) deliver(m *message, c *Chat) {
	c.put(m)
	c.lastBot = m.by
	c.posted++
	for _, d := range c.drafts {
		if d.thread == m.Thread {
			d.over = true
		}
	}
	s.publish(m, false)
	if c.linked != nil {
		c.forwardToGroup(m)
	}
}

// sendText serves sendMessage and sendRichMessage, which differ in content only.
func (s *Server) sendText(req *request) (any, error) {
	m, err := s.newPost(req)
	if err != nil {
		return nil, err
	}
	if err := s.content(req, m); err != nil {
		return nil, err
	}
	s.deliver(m, req.chat)
	return m.wireMessage, nil
}

// content sets the words of a post from a send or an edit: text with entities or a
// parse mode, or a rich message. Words beside a file are its caption, which may be
// empty and has a limit of its own.
func (s *Server) content(req *request, m *message) error {
	if raw := req.params.Raw("rich_message"); raw != nil {
		return m.setRich(raw)
	}
	name, entitiesName := "text", "entities"
	if req.params.Has("caption") {
		name, entitiesName = "caption", "caption_entities"
	}
	text := req.params.Text(name)
	var entities []format.Entity
	if err := req.params.Decode(entitiesName, &entities); err != nil {
		return badRequest(err.Error())
	}
	text, entities, err := s.formatted(req, req.params.Text("parse_mode"), text, entities)
	if err != nil {
		return err
	}
	if name == "caption" || m.file != nil {
		m.Caption, m.CaptionEntities = text, entities
		return tooLong("message caption is too long", text, 1024)
	}
	if strings.TrimSpace(text) == "" {
		return badRequest("message text is empty")
	}
	m.Text, m.Entities, m.Rich, m.rich = text, entities, nil, ""
	return tooLong("message is too long", text, 4096)
}

// formatted gives a text's plain form and entities. Entities that do not fit the
// text, and markup that cannot be read, are violations: a correct bot makes neither.
func (s *Server) formatted(req *request, mode, text string, entities []format.Entity) (string, []format.Entity, error) {
	if err := format.Valid(text, entities); err != nil {
		s.violate("%s %s: %v", req.bot.Username, req.method, err)
		return "", nil, badRequest("ENTITY_BOUNDS_INVALID")
	}
	text, entities, err := format.Parse(mode, text, entities)
	if err != nil {
		s.violate("%s %s: %v", req.bot.Username, req.method, err)
		return "", nil, badRequest("can't parse entities: " + err.Error())
	}
	return text, entities, nil
}

// tooLong counts after the parse mode has done its work, so the schema could not.
func tooLong(what, text string, limit int) error {
	if format.Units(text) > limit {
		return badRequest(what)
	}
	return nil
}

// setRich keeps a rich message's source, and shows it as Telegram does: as blocks
// and with no text. The blocks are one paragraph each, since nothing of ours reads
// them back.
func (m *message) setRich(raw json.RawMessage) error {
	var in struct {
		Blocks   json.RawMessage `json:"blocks"`
		HTML     string          `json:"html"`
		Markdown string          `json:"markdown"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return badRequest(err.Error())
	}
	m.rich = in.Markdown + in.HTML + string(in.Blocks) // the schema lets only one of them be there
	if strings.TrimSpace(m.rich) == "" {
		return badRequest("message text is empty")
	}
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	blocks := []block{}
	for part := range strings.SplitSeq(m.rich, "\n\n") {
		blocks = append(blocks, block{"paragraph", part})
	}
	shown, err := json.Marshal(map[string]any{"blocks": blocks})
	m.Rich, m.Text, m.Entities = shown, "", nil
	return err
}

// sendFile serves sendPhoto, sendDocument and their like: the parameter is named as
// the kind of file.
func (s *Server) sendFile(req *request) (any, error) {
	m, err := s.newPost(req)
	if err != nil {
		return nil, err
	}
	kind := strings.ToLower(strings.TrimPrefix(req.method, "send"))
	part, isPart := req.params.Files[kind]
	f, err := s.upload(req, kind, req.params.Text(kind), part, isPart)
	if err != nil {
		return nil, err
	}
	m.attach(f)
	if err := s.content(req, m); err != nil {
		return nil, err
	}
	s.deliver(m, req.chat)
	return m.wireMessage, nil
}

// sendAlbum makes all of the posts or none: the first refusal ends it.
func (s *Server) sendAlbum(req *request) (any, error) {
	var media []struct {
		Type     string          `json:"type"`
		Media    string          `json:"media"`
		Caption  string          `json:"caption"`
		Entities []format.Entity `json:"caption_entities"`
		Mode     string          `json:"parse_mode"`
	}
	if err := req.params.Decode("media", &media); err != nil {
		return nil, badRequest(err.Error())
	}
	album := fmt.Sprint(13000000000000000 + s.next()) // too long for a float64 to hold, as Telegram's are
	var posts []*message
	for _, item := range media {
		m, err := s.newPost(req)
		if err != nil {
			return nil, err
		}
		f, err := s.upload(req, item.Type, item.Media, req.params.Files[""], false)
		if err != nil {
			return nil, err
		}
		m.attach(f)
		m.Album = album
		if m.Caption, m.CaptionEntities, err = s.formatted(req, item.Mode, item.Caption, item.Entities); err != nil {
			return nil, err
		}
		posts = append(posts, m)
	}
	var out []wireMessage
	for _, m := range posts {
		s.deliver(m, req.chat)
		out = append(out, m.wireMessage)
	}
	return out, nil
}

// draft is one draft call that a private chat has seen.
type draft struct {
	id, thread int64
	post       Post
	canStop    bool
	over       bool // stopped, or replaced by a message
}

// sendDraft serves both kinds of draft. A draft is no message: it has no number,
// nobody can reply to it, and a message of the bot in its place ends it.
func (s *Server) sendDraft(req *request) (any, error) {
	c, err := s.reach(req)
	if err != nil {
		return nil, err
	}
	thread := req.params.Int("message_thread_id")
	if err := c.open(req.bot, thread); err != nil {
		return nil, err
	}
	m := &message{by: req.bot, method: req.method, chat: c}
	m.Thread, m.Chat, m.Date = thread, c.wire(), s.now()
	if req.params.Text("text") != "" || req.params.Has("rich_message") {
		if err := s.content(req, m); err != nil {
			return nil, err
		}
	}
	d := &draft{id: req.params.Int("draft_id"), thread: thread, canStop: req.params.Bool("can_stop"), post: s.shown(m)}
	d.post.Draft = d.id
	c.drafts = append(c.drafts, d)
	if keep := s.options.Keep; keep > 0 && len(c.drafts) > 2*keep {
		c.drafts = append([]*draft(nil), c.drafts[len(c.drafts)-keep:]...)
	}
	return true, nil
}

// sendAction takes thread 1 where sends do not: a client shows typing in General
// only when it is named.
func (s *Server) sendAction(req *request) (any, error) {
	c, err := s.reach(req)
	if err != nil {
		return nil, err
	}
	if thread := req.params.Int("message_thread_id"); thread != 1 {
		if err := c.open(req.bot, thread); err != nil {
			return nil, err
		}
	}
	return true, nil
}

// answerQuery takes one answer a query; a second one is too late, as is one to
// another bot's query.
func (s *Server) answerQuery(req *request) (any, error) {
	id := req.params.Text("callback_query_id")
	if s.queries[id] != req.bot {
		return nil, badRequest("query is too old and response timeout expired or query ID is invalid")
	}
	delete(s.queries, id)
	return true, nil
}
