package methods

import (
	"encoding/json"
	"fmt"
	"strings"

	"attache/internal/telegramsim/format"
	"attache/internal/telegramsim/wire"
	"attache/internal/telegramsim/world"
)

// newPost makes a message of a send: chat, right to speak, pace, thread and parent. It
// is in no chat yet: what the send says may still be refused, and a refused send
// leaves nothing behind but its place in the pace.
func (a *table) newPost(req *Request) (*world.Message, error) {
	c, err := a.reach(req)
	if err != nil {
		return nil, err
	}
	if c.Status(req.Bot) == "restricted" || c.Channel() && !c.Admin(req.Bot) {
		return nil, BadRequest("not enough rights to send text messages to the chat")
	}
	thread := req.Params.Int("message_thread_id")
	if err := open(c, req.Bot, thread); err != nil {
		return nil, err
	}
	m := &world.Message{By: req.Bot, Method: req.Method}
	m.From = req.Bot.Wire()
	if c.Channel() {
		w := c.Wire()
		m.From, m.SenderChat = nil, &w
	}
	if err := a.reply(req, c, m, thread); err != nil {
		return nil, err
	}
	m.ReplyMarkup = wire.ShownMarkup(req.Params.Raw("reply_markup"))
	if wait := c.Pace(req.Bot); wait > 0 {
		return nil, Flood(wait)
	}
	return m, nil
}

// open refuses a thread that does not exist, and a closed one to all but admins.
func open(c *world.Chat, bot *world.User, thread int64) error {
	if thread == 0 {
		return nil
	}
	t := c.Topics[thread]
	if t == nil || !c.Forum {
		return BadRequest("message thread not found")
	}
	if t.Closed && !c.Admin(bot) {
		return BadRequest("TOPIC_CLOSED")
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
func (a *table) reply(req *Request, c *world.Chat, m *world.Message, thread int64) error {
	var r replyParameters
	if err := req.Params.Decode("reply_parameters", &r); err != nil {
		return BadRequest(err.Error())
	}
	if r.MessageID == 0 {
		c.Place(m, thread, nil)
		return nil
	}
	from := c
	if r.ChatID != nil {
		if from = a.Lookup(req.Bot, strings.Trim(string(r.ChatID), `"`)); from == nil {
			return BadRequest("chat not found")
		}
	}
	parent := from.Find(r.MessageID)
	switch {
	case parent == nil && (!r.Allow || from != c):
		return BadRequest("message to be replied not found")
	case parent != nil && r.Quote != "" && !strings.Contains(parent.Text+parent.Caption+parent.Source, r.Quote):
		return BadRequest("QUOTE_TEXT_INVALID")
	case parent != nil && from != c:
		c.Place(m, thread, nil)
		return m.ReplyOutside(from, r.MessageID)
	}
	if parent != nil && thread == 0 && parent.IsTopic && c.Forum {
		thread = parent.Thread // a reply goes where its parent stands
	}
	c.Place(m, thread, parent)
	if parent != nil && r.Quote != "" {
		m.Quote = &wire.Quote{Text: r.Quote, Manual: true}
	}
	return nil
}

// sendText serves sendMessage and sendRichMessage, which differ in content only.
func (a *table) sendText(req *Request) (any, error) {
	m, err := a.newPost(req)
	if err != nil {
		return nil, err
	}
	if err := a.content(req, m); err != nil {
		return nil, err
	}
	req.chat.Deliver(m)
	return m.Message, nil
}

// content sets the words of a post from a send or an edit: text with entities or a
// parse mode, or a rich message. Words beside a file are its caption, which may be
// empty and has a limit of its own.
func (a *table) content(req *Request, m *world.Message) error {
	if raw := req.Params.Raw("rich_message"); raw != nil {
		return setRich(m, raw)
	}
	name, entitiesName := "text", "entities"
	if req.Params.Has("caption") {
		name, entitiesName = "caption", "caption_entities"
	}
	text := req.Params.Text(name)
	var entities []format.Entity
	if err := req.Params.Decode(entitiesName, &entities); err != nil {
		return BadRequest(err.Error())
	}
	text, entities, err := a.formatted(req, req.Params.Text("parse_mode"), text, entities)
	if err != nil {
		return err
	}
	if name == "caption" || m.File != nil {
		m.Caption, m.CaptionEntities = text, entities
		return tooLong("message caption is too long", text, 1024)
	}
	if strings.TrimSpace(text) == "" {
		return BadRequest("message text is empty")
	}
	m.Text, m.Entities, m.Rich, m.Source = text, entities, nil, ""
	return tooLong("message is too long", text, 4096)
}

// formatted gives a text's plain form and entities. Entities that do not fit the
// text, and markup that cannot be read, are violations: a correct bot makes neither.
func (a *table) formatted(req *Request, mode, text string, entities []format.Entity) (string, []format.Entity, error) {
	if err := format.Valid(text, entities); err != nil {
		a.odd("%s %s: %v", req.Bot.Username, req.Method, err)
		return "", nil, BadRequest("ENTITY_BOUNDS_INVALID")
	}
	text, entities, err := format.Parse(mode, text, entities)
	if err != nil {
		a.odd("%s %s: %v", req.Bot.Username, req.Method, err)
		return "", nil, BadRequest("can't parse entities: " + err.Error())
	}
	return text, entities, nil
}

// tooLong counts after the parse mode has done its work, so the schema could not.
func tooLong(what, text string, limit int) error {
	if format.Units(text) > limit {
		return BadRequest(what)
	}
	return nil
}

// setRich keeps a rich message's source, and shows it as Telegram does: as blocks
// and with no text. The blocks are one paragraph each, since nothing of ours reads
// them back.
func setRich(m *world.Message, raw json.RawMessage) error {
	var in struct {
		Blocks   json.RawMessage `json:"blocks"`
		HTML     string          `json:"html"`
		Markdown string          `json:"markdown"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return BadRequest(err.Error())
	}
	m.Source = in.Markdown + in.HTML + string(in.Blocks) // the schema lets only one of them be there
	if strings.TrimSpace(m.Source) == "" {
		return BadRequest("message text is empty")
	}
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	blocks := []block{}
	for part := range strings.SplitSeq(m.Source, "\n\n") {
		blocks = append(blocks, block{"paragraph", part})
	}
	shown, err := json.Marshal(map[string]any{"blocks": blocks})
	m.Rich, m.Text, m.Entities = shown, "", nil
	return err
}

// sendFile serves sendPhoto, sendDocument and their like: the parameter is named as
// the kind of file.
func (a *table) sendFile(req *Request) (any, error) {
	m, err := a.newPost(req)
	if err != nil {
		return nil, err
	}
	kind := strings.ToLower(strings.TrimPrefix(req.Method, "send"))
	part, isPart := req.Params.Files[kind]
	f, err := a.upload(req, kind, req.Params.Text(kind), part, isPart)
	if err != nil {
		return nil, err
	}
	m.Attach(f)
	if err := a.content(req, m); err != nil {
		return nil, err
	}
	req.chat.Deliver(m)
	return m.Message, nil
}

// sendAlbum makes all of the posts or none: the first refusal ends it.
func (a *table) sendAlbum(req *Request) (any, error) {
	var media []struct {
		Type     string          `json:"type"`
		Media    string          `json:"media"`
		Caption  string          `json:"caption"`
		Entities []format.Entity `json:"caption_entities"`
		Mode     string          `json:"parse_mode"`
	}
	if err := req.Params.Decode("media", &media); err != nil {
		return nil, BadRequest(err.Error())
	}
	album := fmt.Sprint(13000000000000000 + a.Number()) // too long for a float64 to hold, as Telegram's are
	var posts []*world.Message
	for _, item := range media {
		m, err := a.newPost(req)
		if err != nil {
			return nil, err
		}
		f, err := a.upload(req, item.Type, item.Media, req.Params.Files[""], false)
		if err != nil {
			return nil, err
		}
		m.Attach(f)
		m.Album = album
		if m.Caption, m.CaptionEntities, err = a.formatted(req, item.Mode, item.Caption, item.Entities); err != nil {
			return nil, err
		}
		posts = append(posts, m)
	}
	var out []wire.Message
	for _, m := range posts {
		req.chat.Deliver(m)
		out = append(out, m.Message)
	}
	return out, nil
}

// sendDraft serves both kinds of draft. A draft is no message: it has no number,
// nobody can reply to it, and a message of the bot in its place ends it.
func (a *table) sendDraft(req *Request) (any, error) {
	c, err := a.reach(req)
	if err != nil {
		return nil, err
	}
	thread := req.Params.Int("message_thread_id")
	if err := open(c, req.Bot, thread); err != nil {
		return nil, err
	}
	m := &world.Message{By: req.Bot, Method: req.Method}
	m.Thread = thread
	if req.Params.Text("text") != "" || req.Params.Has("rich_message") {
		if err := a.content(req, m); err != nil {
			return nil, err
		}
	}
	c.Show(&world.Draft{ID: req.Params.Int("draft_id"), Thread: thread, CanStop: req.Params.Bool("can_stop"), Words: m})
	return true, nil
}

// sendAction takes thread 1 where sends do not: a client shows typing in General
// only when it is named.
func (a *table) sendAction(req *Request) (any, error) {
	c, err := a.reach(req)
	if err != nil {
		return nil, err
	}
	if thread := req.Params.Int("message_thread_id"); thread != 1 {
		if err := open(c, req.Bot, thread); err != nil {
			return nil, err
		}
	}
	return true, nil
}

// answerQuery takes one answer a query; a second one is too late, as is one to
// another bot's query.
func (a *table) answerQuery(req *Request) (any, error) {
	id := req.Params.Text("callback_query_id")
	if a.Query(id) != req.Bot {
		return nil, BadRequest("query is too old and response timeout expired or query ID is invalid")
	}
	a.EndQuery(id)
	return true, nil
}
