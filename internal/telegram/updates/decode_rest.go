package updates

import (
	"encoding/json"
	"slices"
	"strings"

	"attache"
)

// fillRest looks at a message that has neither text nor a file, which is rare
// enough for a second pass: a rich message gives its plain text, what Attaché
// cannot carry is named in words, anything else that Telegram put into the message
// makes it a service message. A field that is new to Attaché counts as service
// too: of those Telegram adds many, and none of them is somebody talking.
func fillRest(m *attache.Message, kind string, raw []byte) {
	fields := fieldsOf(kind, raw)
	if rich, ok := fields["rich_message"]; ok {
		if m.Text = richPlain(rich); m.Text != "" {
			return
		}
	}
	for _, name := range contents() {
		if _, ok := fields[name]; ok {
			m.Left = contentWords(name)
			return
		}
	}
	var services []string
	for name := range fields {
		if !isEnvelope(name) {
			services = append(services, name)
		}
	}
	switch {
	case len(services) > 0:
		m.Service = clean(slices.Min(services))
	case m.Text == "":
		m.Left = "a message of a kind that Telegram does not show to bots"
	}
}

// fieldsOf gives the fields of the message inside an update, without those that
// say no: null and false.
func fieldsOf(kind string, raw []byte) map[string]json.RawMessage {
	var update map[string]json.RawMessage
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &update) != nil || json.Unmarshal(update[kind], &fields) != nil {
		return nil
	}
	for name, value := range fields {
		if v := string(value); v == "null" || v == "false" {
			delete(fields, name)
		}
	}
	return fields
}

// contents lists what a person may send that Attaché cannot carry, the telling
// name first where Telegram sends two for one thing (venue and location).
func contents() []string {
	return []string{
		"poll", "venue", "location", "contact", "dice", "game", "story", "checklist", "giveaway",
		"giveaway_winners", "invoice", "paid_media", "rich_message", "passport_data",
	}
}

// contentWords is how such a thing is called towards the model.
func contentWords(name string) string {
	switch name {
	case "venue":
		return "a place on the map"
	case "dice":
		return "a throw of dice"
	case "giveaway_winners":
		return "the winners of a giveaway"
	case "invoice":
		return "an invoice"
	case "paid_media":
		return "paid media"
	case "passport_data":
		return "Telegram Passport data"
	}
	return "a " + strings.ReplaceAll(name, "_", " ")
}

// isEnvelope reports whether a field of a message says something about it, rather
// than being what was sent.
func isEnvelope(name string) bool {
	switch name {
	case "message_id", "message_thread_id", "direct_messages_topic", "from", "sender_chat", "sender_boost_count",
		"sender_business_bot", "sender_tag", "receiver_user", "ephemeral_message_id", "date", "guest_query_id",
		"business_connection_id", "chat", "is_topic_message", "is_automatic_forward", "reply_to_message",
		"external_reply", "quote", "reply_to_story", "reply_to_checklist_task_id", "reply_to_poll_option_id",
		"via_bot", "guest_bot_caller_user", "guest_bot_caller_chat", "edit_date", "has_protected_content",
		"is_from_offline", "is_paid_post", "media_group_id", "author_signature", "paid_star_count", "text",
		"entities", "link_preview_options", "suggested_post_info", "effect_id", "caption", "caption_entities",
		"show_caption_above_media", "has_media_spoiler", "reply_markup", "photo", "voice", "audio", "document",
		"video", "video_note", "animation", "sticker", "live_photo":
		return true
	}
	return strings.HasPrefix(name, "forward_")
}

// richPlain gives the words of a rich message, a line a block. People forward and
// quote such messages, so their words should not be lost with their form.
func richPlain(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return ""
	}
	var b strings.Builder
	writeRich(&b, v, 0)
	return strings.TrimSpace(clean(b.String()))
}

// deepestRich is far beyond Telegram's own 16 levels.
const deepestRich = 100

// writeRich walks blocks and rich texts alike: both nest through the same few
// field names.
func writeRich(b *strings.Builder, v any, depth int) {
	if depth > deepestRich {
		return
	}
	switch v := v.(type) {
	case string:
		b.WriteString(v)
	case []any:
		for _, part := range v {
			writeRich(b, part, depth+1)
		}
	case map[string]any:
		for _, name := range []string{"summary", "text", "expression", "alternative_text"} {
			writeRich(b, v[name], depth+1)
		}
		for _, name := range []string{"blocks", "items", "cells"} {
			writeLines(b, v[name], name == "cells", depth+1)
		}
		for _, name := range []string{"caption", "credit"} {
			if v[name] != nil {
				b.WriteString("\n")
				writeRich(b, v[name], depth+1)
			}
		}
	}
}

// writeLines writes the parts of a block on lines of their own, a table's row as
// one line.
func writeLines(b *strings.Builder, v any, rows bool, depth int) {
	parts, _ := v.([]any)
	for _, part := range parts {
		cells, isRow := part.([]any)
		if !rows || !isRow {
			cells = []any{part}
		}
		for i, cell := range cells {
			if i > 0 {
				b.WriteString(" | ")
			}
			writeRich(b, cell, depth+1)
		}
		b.WriteString("\n")
	}
}
