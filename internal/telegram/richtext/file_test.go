package richtext

import (
	"strings"
	"testing"

	"attache"
)

// A file stands first, its words below it or behind it, the reply on the first part
// and the buttons on the last one.
//
// row L8 (out: what is called)
func TestComposeFiles(t *testing.T) {
	long := strings.Repeat("x", 1025)
	pair := strings.Repeat("😀", 512) // 1,024 units
	for _, c := range []struct {
		kind, markdown, says string
		format               attache.Format
		want                 string // of each part: method form {"params"} text
	}{
		{kind: "document", want: `sendDocument plain {"chat_id":-1001,"message_thread_id":42,"reply_parameters":R,"reply_markup":K} ""`},
		{kind: "photo", says: "[photo]", markdown: " **Look**\n", want: `sendPhoto entities {"chat_id":-1001,"message_thread_id":42,"caption":"Look","caption_entities":[{"type":"bold","offset":0,"length":4}],"reply_parameters":R,"reply_markup":K} "[photo]\nLook"`},
		{kind: "voice", says: "[voice] Hello", markdown: "", want: `sendVoice plain {"chat_id":-1001,"message_thread_id":42,"reply_parameters":R,"reply_markup":K} "[voice] Hello"`},
		{kind: "document", markdown: "**a**", format: attache.FormatPlain, want: `sendDocument plain {"chat_id":-1001,"message_thread_id":42,"caption":"a","reply_parameters":R,"reply_markup":K} "a"`},
		{kind: "document", markdown: "# a", want: `sendDocument entities {"chat_id":-1001,"message_thread_id":42,"caption":"a","caption_entities":[{"type":"bold","offset":0,"length":1}],"reply_parameters":R,"reply_markup":K} "a"`},
		{kind: "document", markdown: pair, want: `sendDocument plain {"chat_id":-1001,"message_thread_id":42,"caption":"` + pair + `","reply_parameters":R,"reply_markup":K} "` + pair + `"`},
		{kind: "document", says: "[document a.txt]", markdown: long, want: `sendDocument plain {"chat_id":-1001,"message_thread_id":42,"reply_parameters":R} "[document a.txt]"` +
			"\n" + `sendMessage entities {"chat_id":-1001,"message_thread_id":42,"text":"` + long + `","reply_markup":K} "` + long + `"`},
	} {
		u := &attache.Upload{Kind: c.kind, Name: "a.txt", Says: c.says}
		parts := Compose(attache.Outgoing{
			Place: attache.Place{Bot: "nova", Chat: -1001, Thread: 42}, Markdown: c.markdown, Format: c.format, ReplyTo: 9, File: u,
			Buttons: [][]attache.Button{{{Text: "Yes", Data: "y"}}},
		})
		var got []string
		for i, p := range parts {
			params := strings.NewReplacer(
				`{"message_id":9,"allow_sending_without_reply":true}`, "R",
				`{"inline_keyboard":[[{"text":"Yes","callback_data":"y"}]]}`, "K").Replace(string(p.Params))
			got = append(got, p.Method+" "+string(p.Format)+" "+params+" "+strings.ReplaceAll(`"`+p.Text+`"`, "\n", `\n`))
			if (p.File == u) != (i == 0) {
				t.Errorf("part %d has the file %v", i, p.File)
			}
		}
		if joined := strings.Join(got, "\n"); joined != c.want {
			t.Errorf("%s %.20q:\n got %s\nwant %s", c.kind, c.markdown, joined, c.want)
		}
	}
}

// A file that is refused in its form is said in the next simpler one, and keeps its
// bytes, its words and its place on the way.
func TestSimplerFiles(t *testing.T) {
	u := &attache.Upload{Kind: "photo", Name: "a.png", Data: []byte("png")}
	parts := Compose(attache.Outgoing{Place: attache.Place{Chat: 5}, Markdown: "*a* b", File: u})
	var way []string
	for len(parts) == 1 {
		p := parts[0]
		way = append(way, p.Method+" "+string(p.Format)+" "+string(p.Params))
		if p.File != u || p.Text != "a b" {
			t.Errorf("%s has lost something: %+v", p.Method, p)
		}
		if moved := Retarget(p, attache.Place{Chat: -9, Thread: 7}); moved.File != u {
			t.Error("a part in another place has lost its file")
		}
		parts = Simpler(p)
	}
	want := []string{
		`sendPhoto entities {"chat_id":5,"caption":"a b","caption_entities":[{"type":"italic","offset":0,"length":1}]}`,
		`sendDocument entities {"chat_id":5,"caption":"a b","caption_entities":[{"type":"italic","offset":0,"length":1}]}`,
		`sendDocument plain {"chat_id":5,"caption":"a b"}`,
	}
	if got := strings.Join(way, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the way is\n%s", got)
	}
}
