package engage

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"attache"
)

func nova() Self { return Self{Bot: "nova", User: "tg:user:700", Username: "nova_bot"} }

// said makes a message of a person in a group. In text, a range such as
// {mention|@nova_bot} becomes a mark of that kind.
func said(text string) attache.Message {
	m := attache.Message{
		Place: attache.Place{Bot: "nova", Chat: -100}, Chat: attache.Chat{Kind: "supergroup"},
		From: attache.Person{ID: "tg:user:5", Name: "Ann"},
	}
	for {
		before, rest, ok := strings.Cut(text, "{")
		m.Text += before
		kind, rest, bar := strings.Cut(rest, "|")
		inner, after, closed := strings.Cut(rest, "}")
		if !ok || !bar || !closed {
			return m
		}
		m.Marks = append(m.Marks, attache.Mark{Kind: kind, Offset: attache.UTF16Len(m.Text), Length: attache.UTF16Len(inner)})
		m.Text += inner
		text = after
	}
}

func replyTo(id attache.PersonID, external bool) attache.Message {
	m := said("and tomorrow?")
	m.Reply = &attache.Reply{ID: 9, From: attache.Person{ID: id}, External: external}
	return m
}

func textMention(user attache.PersonID) attache.Message {
	m := said("hi {text_mention|Nova}")
	m.Marks[0].User = user
	return m
}

func rule(engage string) Rule {
	return Rule{Engage: engage, Names: []string{"Nova", "Нова", "小助手", "Miss N"}, Admitted: true}
}

// Which words answer which message: one row a message, the words that answer it.
func TestWords(t *testing.T) {
	for name, c := range map[string]struct {
		m       attache.Message
		answers string
	}{
		"plain":                     {said("what is the price?"), "all"},
		"mention":                   {said("{mention|@nova_bot} hi"), "mention addressed name all"},
		"mention in capitals":       {said("hi {mention|@Nova_Bot}"), "mention addressed name all"},
		"mention after emoji":       {said("👍🏽👨‍👩‍👧 {mention|@nova_bot}"), "mention addressed name all"},
		"mention of a longer name":  {said("{mention|@nova_bot2} hi"), "all"},
		"mention without a mark":    {said("@nova_bot hi"), "all"},
		"mention in code":           {said("{code|@nova_bot} {pre|@nova_bot}"), "all"},
		"mention in a url":          {said("{url|https://t.me/@nova_bot}"), "all"},
		"mention by number":         {textMention("tg:user:700"), "mention addressed name all"},
		"mention of another":        {textMention("tg:user:701"), "all"},
		"command with our name":     {said("{bot_command|/price@nova_bot} now"), "mention addressed name all"},
		"command later in the text": {said("try {bot_command|/price@NOVA_BOT}"), "mention addressed name all"},
		"command with another name": {said("{bot_command|/price@other_bot}"), ""},
		"command with no name":      {said("{bot_command|/price}"), "all"},
		"reply to us":               {replyTo("tg:user:700", false), "reply addressed name all"},
		"reply to us by brain name": {replyTo("bot:nova", false), "reply addressed name all"},
		"reply to another":          {replyTo("tg:user:6", false), "all"},
		"reply across chats":        {replyTo("tg:user:700", true), "all"},
		"name":                      {said("nova, what is the price?"), "name all"},
		"name at the end":           {said("thanks NOVA"), "name all"},
		"name of two words":         {said("dear miss n!"), "name all"},
		"name in Cyrillic":          {said("спасибо, нова."), "name all"},
		"name inside a word":        {said("innovation, Novak and nova_bot and nova2"), "all"},
		"name with an accent":       {said("nova\u0301"), "all"},
		"name inside a word, ё":     {said("обнова"), "all"},
		"name in Chinese":           {said("小助手你好"), "name all"},
		"Latin name in Japanese":    {said("Novaさん"), "name all"},
		"name in code":              {said("run {code|nova} or {pre|nova} now"), "all"},
		"name in a url":             {said("see {url|https://nova.com/x} {email|nova@x.com}"), "all"},
		"name in other's mention":   {said("{mention|@nova} {hashtag|#nova}"), "all"},
		"name in a link's text":     {said("{text_link|Nova} look"), "name all"},
		"name after emoji and code": {said("😀 {code|😀 nova} nova"), "name all"},
		"caption": {func() attache.Message {
			m := said("{mention|@nova_bot}")
			m.Media = []attache.Media{{Kind: "photo"}}
			return m
		}(), "mention addressed name all"},
		"no text": {func() attache.Message { m := said(""); m.Media = []attache.Media{{Kind: "voice"}}; return m }(), "all"},
	} {
		var got []string
		for _, word := range []string{"mention", "reply", "addressed", "name", "all", "silent", "code", "none"} {
			d := Decide(rule(word), c.m, nova())
			if d.Act == Answer {
				got = append(got, word)
			}
			if d.Why == "" {
				t.Errorf("%s: engage %s gives no reason", name, word)
			}
		}
		if strings.Join(got, " ") != c.answers {
			t.Errorf("%s: answered for %v, want %s", name, got, c.answers)
		}
	}
}

func from(id attache.PersonID, isBot, channel bool) attache.Message {
	m := said("{mention|@nova_bot} hi")
	m.From, m.Channel = attache.Person{ID: id, IsBot: isBot}, channel
	return m
}

func TestWhoIsNotEvenLookedAt(t *testing.T) {
	service := from("tg:user:5", false, false)
	service.Service = "pinned_message"
	for name, c := range map[string]struct {
		r   Rule
		m   attache.Message
		act Act
		why string
	}{
		"stranger":                  {Rule{Engage: "all", Observe: true, WhyNot: "the rule on line 4 does not list tg:user:5 in people"}, from("tg:user:5", false, false), Ignore, "the rule on line 4 does not list tg:user:5 in people"},
		"stranger without a reason": {Rule{Engage: "all", Observe: true}, from("tg:user:5", false, false), Ignore, "the rule does not let its sender in"},
		"itself":                    {Rule{Engage: "all", Admitted: true, Bots: true, Observe: true}, from("tg:user:700", true, false), Ignore, "the bot's own message"},
		"itself by name":            {Rule{Engage: "all", Admitted: true, Bots: true, Observe: true}, from("bot:nova", true, false), Ignore, "the bot's own message"},
		"nobody":                    {Rule{Engage: "all", Admitted: true}, from("", false, false), Ignore, "nobody is named as its sender"},
		"service":                   {Rule{Engage: "all", Admitted: true, Observe: true}, service, Ignore, "a service message"},
		"bot":                       {Rule{Engage: "all", Admitted: true, Observe: true}, from("tg:user:8", true, false), Ignore, "another bot wrote it, and the rule has no bots: true"},
		"bot of ours":               {Rule{Engage: "all", Admitted: true, Observe: true}, from("bot:vega", false, false), Ignore, "another bot wrote it, and the rule has no bots: true"},
		"bot let in":                {Rule{Engage: "all", Admitted: true, Bots: true, Exchanges: 4}, from("tg:user:8", true, false), Answer, "engage: all"},
		"bot in a loop":             {Rule{Engage: "all", Admitted: true, Bots: true, Observe: true, Exchanges: 5}, from("tg:user:8", true, false), Ignore, "bots have answered each other 5 times here; a person must write first"},
		"person after the loop":     {Rule{Engage: "all", Admitted: true, Bots: true, Exchanges: 5}, from("tg:user:5", false, false), Answer, "engage: all"},
		"anonymous admin":           {Rule{Engage: "mention", Admitted: true}, from("tg:chat:-100", true, false), Answer, "it mentions @nova_bot"},
		"channel":                   {Rule{Engage: "all", Admitted: true, Observe: true}, from("tg:chat:-200", false, true), Ignore, "a channel posted it, and the rule has no channels: true"},
		"channel by its address":    {Rule{Engage: "all", Admitted: true}, from("tg:chat:-200", false, false), Ignore, "a channel posted it, and the rule has no channels: true"},
		"channel let in":            {Rule{Engage: "all", Admitted: true, Channels: true}, from("tg:chat:-200", false, true), Answer, "engage: all"},
	} {
		if d := Decide(c.r, c.m, nova()); d.Act != c.act || d.Why != c.why {
			t.Errorf("%s: %s, %s", name, d.Act, d.Why)
		}
	}
}

func TestRoomLines(t *testing.T) {
	r := rule("addressed")
	r.Observe = true
	if d := Decide(r, said("lunch?"), nova()); d.Act != Observe || d.Why != "engage: addressed, and it neither mentions the bot nor replies to it; the room is observed" {
		t.Errorf("%+v", d)
	}
	if d := Decide(r, said("{mention|@nova_bot} lunch?"), nova()); d.Act != Answer {
		t.Errorf("%+v", d)
	}
	r.Engage = "silent"
	if d := Decide(r, said("{mention|@nova_bot} lunch?"), nova()); d.Act != Observe || !d.Mentioned {
		t.Errorf("%+v", d)
	}
}

func TestCodeHasTheLastWordButLetsNobodyIn(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		engage string
		code   *bool
		want   Act
	}{{"code", nil, Ignore}, {"code", &yes, Answer}, {"silent", &yes, Answer}, {"all", &no, Ignore}, {"all", nil, Answer}} {
		r := rule(c.engage)
		r.Code = c.code
		if d := Decide(r, said("hi"), nova()); d.Act != c.want {
			t.Errorf("%s: %+v", c.engage, d)
		}
	}
	if d := Decide(Rule{Engage: "all", Code: &yes}, said("hi"), nova()); d.Act != Ignore {
		t.Errorf("%+v", d)
	}
}

func TestHostileMarksArePassedBy(t *testing.T) {
	m := said("@nova_bot")
	m.Marks = append(m.Marks, attache.Mark{Kind: "mention", Offset: 900, Length: 9}, attache.Mark{Kind: "mention", Offset: -1, Length: 9},
		attache.Mark{Kind: "mention", Offset: 0, Length: 1 << 40}, attache.Mark{Kind: "bot_command", Offset: 0, Length: -5},
		attache.Mark{Kind: "code", Offset: 1 << 62, Length: 1 << 62})
	if d := Decide(rule("name"), m, nova()); d.Act != Ignore {
		t.Errorf("%+v", d)
	}
	split := attache.Message{Place: m.Place, From: m.From, Text: "😀 nova", Marks: []attache.Mark{{Kind: "code", Offset: 1, Length: 3}}}
	if d := Decide(rule("name"), split, nova()); d.Act != Answer {
		t.Errorf("a mark that splits a character covers nothing: %+v", d)
	}
}

func TestCommand(t *testing.T) {
	edited, forwarded := said("{bot_command|/restart}"), said("{bot_command|/restart}")
	edited.EditedAt, forwarded.Forward = time.Unix(1, 0), "Bob"
	for name, c := range map[string]struct {
		m    attache.Message
		want string
	}{
		"alone":    {said("{bot_command|/help}"), "help||true"},
		"ours":     {said("{bot_command|/Help@Nova_bot}  a  b \n c "), "help|a  b \n c|true"},
		"theirs":   {said("{bot_command|/help@nova_bot2} a"), "||false"},
		"nobody's": {said("{bot_command|/help@} a"), "||false"},
		"later":    {said("try {bot_command|/help}"), "||false"},
		"no mark":  {said("/help"), "||false"},
		"in code": {func() attache.Message {
			m := said("{bot_command|/help}")
			m.Marks = append(m.Marks, attache.Mark{Kind: "code", Length: 5})
			return m
		}(), "||false"},
		"slash only": {said("{bot_command|/} x"), "||false"},
		"no slash":   {said("{bot_command|help} x"), "||false"},
		"edited":     {edited, "||false"},
		"forwarded":  {forwarded, "||false"},
		"braces":     {said("{bot_command|/triage} <b>&amp;"), "triage|<b>&amp;|true"},
	} {
		n, args, ok := Command(c.m, "nova_bot")
		got := n + "|" + args + "|" + map[bool]string{true: "true", false: "false"}[ok]
		if got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestNeedsEverything(t *testing.T) {
	for word, want := range map[string]bool{"mention": false, "reply": false, "addressed": false, "silent": false, "name": true, "all": true, "code": true} {
		if NeedsEverything(word, false) != want || !NeedsEverything(word, true) {
			t.Error(word)
		}
	}
}

// What is written before a message shifts its marks and changes nothing else, and
// who is not let in is never kept, whatever the rule and the text.
func TestDecideTruths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"{mention|@nova_bot}", "{mention|@nova_bot2}", "{code|nova}", "nova", "Novak", "😀", "小助手", " ", ", ", "{bot_command|/x@nova_bot}", "é", "\U0001F468\u200D\U0001F469"}), 0, 8).Draw(t, "pieces")
		word := rapid.SampledFrom([]string{"mention", "reply", "addressed", "name", "all", "silent", "code"}).Draw(t, "engage")
		r := rule(word)
		r.Observe = rapid.Bool().Draw(t, "observe")
		text := strings.Join(pieces, "")
		bare, shifted := Decide(r, said(text), nova()), Decide(r, said("😀𝒳. "+text), nova())
		if bare != shifted {
			t.Fatalf("%q: %+v and %+v", text, bare, shifted)
		}
		r.Admitted = false
		if d := Decide(r, said(text), nova()); d.Act != Ignore {
			t.Fatalf("%q: %+v", text, d)
		}
	})
}

// Any text and marks: no panic, and always a reason.
func FuzzDecide(f *testing.F) {
	f.Add("😀 @nova_bot nova", "mention", 3, 9, "name", true)
	f.Add("/help@nova_bot x", "bot_command", 0, 14, "all", false)
	f.Fuzz(func(t *testing.T, text, kind string, offset, length int, word string, observe bool) {
		m := said("")
		m.Text, m.Marks = text, []attache.Mark{{Kind: kind, Offset: offset, Length: length}, {Kind: "code", Offset: length, Length: offset}}
		r := rule(word)
		r.Observe = observe
		d := Decide(r, m, nova())
		if d.Why == "" || d.Act != Answer && d.Act != Observe && d.Act != Ignore || d.Act == Observe && !observe {
			t.Errorf("%+v", d)
		}
		if name, args, ok := Command(m, "nova_bot"); ok && (name == "" || !strings.Contains(m.Text, args)) {
			t.Errorf("%q %q of %q", name, args, text)
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	m, r := said(strings.Repeat("what is the price of nov? ", 20)+"{mention|@other}"), rule("name")
	for b.Loop() {
		if Decide(r, m, nova()).Act != Ignore {
			b.Fatal("nobody was called")
		}
	}
}
