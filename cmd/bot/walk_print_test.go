package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"attache"
	"attache/gateway/ledger"
	"attache/internal/telegramsim"
)

// sectionNames are the halves of a walk that -update writes.
func sectionNames() []string {
	return []string{"posts", "drafts", "turns", "judged", "kept", "requests", "agent", "prompt", "output", "log"}
}

// section gives what a section of the expected half holds now.
func (p *play) section(name string) (string, error) {
	switch name {
	case "posts":
		return p.posts()
	case "drafts":
		return p.drafts(), nil
	case "turns":
		return p.turns()
	case "judged":
		return p.judged()
	case "kept":
		return p.kept()
	case "requests":
		return p.requests(), nil
	case "agent":
		return p.told(), nil
	case "prompt":
		return p.prompt(), nil
	case "output":
		return p.printed(), nil
	case "log":
		return p.complaints()
	}
	return "", fmt.Errorf("there is no section %s", name)
}

// spotOf says where a chat's post stands, in the words of a script: "in
// desk/billing", "to ann".
func (p *play) spotOf(c *telegramsim.Chat, thread attache.ThreadID) string {
	word, name := "in ", p.names[c]
	if c.Person() != nil {
		word = "to "
	}
	if thread == 0 {
		return word + name
	}
	for where, t := range p.topics {
		if chat, _, _ := strings.Cut(where, "/"); chat == name && t == thread {
			return word + where
		}
	}
	return word + name + "/" + strconv.FormatInt(int64(thread), 10)
}

// placeOf is spotOf for a place as the program knows it.
func (p *play) placeOf(at attache.Place) string {
	for _, c := range p.order {
		if c.ID == at.Chat {
			return p.spotOf(c, at.Thread)
		}
	}
	return at.String()
}

// posts tells what bots have posted, place by place, in the words of a script, and
// then what was not posted and why.
func (p *play) posts() (string, error) {
	var out strings.Builder
	for _, c := range p.order {
		posts := c.Posts()
		slices.SortStableFunc(posts, func(a, b telegramsim.Post) int { return cmp.Compare(a.Thread, b.Thread) })
		for _, post := range posts {
			fmt.Fprintf(&out, "%s %s%s: %s\n", p.speaker(post.From), p.spotOf(c, post.Thread), p.details(c, post), hang(p.plain(p.words(post))))
		}
	}
	rows, err := p.db.Pool().Query(p.t.Context(), `select bot, chat, thread, state, why, text from attache.posts where state <> 'sent' order by id`)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	for rows.Next() {
		var at attache.Place
		var state, why, text string
		if err := rows.Scan(&at.Bot, &at.Chat, &at.Thread, &state, &why, &text); err != nil {
			return "", err
		}
		if state == "unknown" {
			state = "nobody knows whether it arrived"
		}
		fmt.Fprintf(&out, "%s %s, %s (%s): %s\n", at.Bot, p.placeOf(at), state, p.plain(why), hang(text))
	}
	return out.String(), rows.Err()
}

// words are a post's words with their marks.
func (p *play) words(post telegramsim.Post) string {
	if post.Rich != "" {
		return post.Rich
	}
	marks := slices.Clone(post.Marks)
	for i, m := range marks {
		if m.User != "" {
			marks[i].User = attache.PersonID(p.speaker(attache.Person{ID: m.User}))
		}
	}
	return writeMarks(post.Text, marks)
}

// hang indents all lines of a text but the first, as a script would.
func hang(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if i > 0 && l != "" {
			lines[i] = "  " + l
		}
	}
	return strings.Join(lines, "\n")
}

// speaker names somebody as the walk does.
func (p *play) speaker(who attache.Person) string {
	for name, u := range p.users {
		if attache.UserID(u.ID) == who.ID || attache.PersonID("bot:"+name) == who.ID {
			return name
		}
	}
	for _, c := range p.order {
		if attache.SenderChatID(c.ID) == who.ID {
			return p.names[c]
		}
	}
	return string(who.ID)
}

// details are what a post has besides words.
func (p *play) details(c *telegramsim.Chat, post telegramsim.Post) string {
	var out []string
	add := func(format string, args ...any) { out = append(out, ", "+fmt.Sprintf(format, args...)) }
	if post.ReplyTo != 0 {
		add("replying to %s", p.parent(c, post))
	}
	if post.Rich != "" {
		add("rich")
	}
	if post.File != nil {
		add("with %s %s", post.File.Kind, post.File.Name)
	}
	for _, row := range post.Buttons {
		for _, b := range row {
			add("button [%s]", b.Text)
		}
	}
	if post.Edits > 0 {
		add("edited")
	}
	if post.Deleted {
		add("deleted")
	}
	return strings.Join(out, "")
}

// parent names the message that a post replies to: by its label, by its sender when
// it was the sender's last one, else by its words too.
func (p *play) parent(c *telegramsim.Chat, post telegramsim.Post) string {
	for name, s := range p.labels {
		if s.chat == c && s.id == post.ReplyTo {
			return name
		}
	}
	newest := map[attache.PersonID]attache.MessageID{}
	var parent telegramsim.Post
	for _, m := range c.History() {
		if m.ID < post.ID && m.Thread == post.Thread {
			newest[m.From.ID] = m.ID
		}
		if m.ID == post.ReplyTo {
			parent = m
		}
	}
	name := p.speaker(parent.From)
	if newest[parent.From.ID] == parent.ID {
		return name
	}
	return fmt.Sprintf("%s %q", name, parent.Text)
}

// drafts tells the last words of every draft that a private chat showed.
func (p *play) drafts() string {
	var out strings.Builder
	for _, c := range p.order {
		var last []telegramsim.Post
		for _, d := range c.Drafts() {
			if len(last) > 0 && last[len(last)-1].Draft == d.Draft {
				last = last[:len(last)-1]
			}
			last = append(last, d)
		}
		for _, d := range last {
			fmt.Fprintf(&out, "%s: %s\n", p.spotOf(c, d.Thread), hang(p.words(d)))
		}
	}
	return out.String()
}

// turns tells how each turn ended and why.
func (p *play) turns() (string, error) {
	turns, err := ledger.ReadTurns(p.t.Context(), p.db, 0, 1000)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, t := range turns {
		full, _, err := ledger.ReadTurn(p.t.Context(), p.db, t.ID)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "%s %s: %s, %s\n", t.Place.Bot, p.placeOf(t.Place), t.Status, because(howMany(len(full.Input), "message"), p.plain(t.Why)))
	}
	return out.String(), nil
}

func howMany(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func because(what, why string) string {
	if why == "" {
		return what
	}
	return what + "; " + why
}

// kept tells what of all that was said is stored.
func (p *play) kept() (string, error) {
	rows, err := p.db.Pool().Query(p.t.Context(), `
		select bot, chat, thread, person, role, coalesce(body->>'text', '') from attache.messages order by seq`)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var out strings.Builder
	for rows.Next() {
		var at attache.Place
		var person, role, text string
		if err := rows.Scan(&at.Bot, &at.Chat, &at.Thread, &person, &role, &text); err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "%s of %s %s: %s\n", role, p.speaker(attache.Person{ID: attache.PersonID(person)}), p.heard(at, string(at.Bot)), hang(text))
	}
	var handled, emptied, broken int
	err = p.db.Pool().QueryRow(p.t.Context(), `select count(*) filter (where state = 'handled' and raw <> ''),
		count(*) filter (where state = 'handled' and raw = ''), count(*) filter (where state = 'broken') from attache.updates`).Scan(&handled, &emptied, &broken)
	fmt.Fprintf(&out, "updates: %d handled, %d emptied, %d broken\n", handled, emptied, broken)
	return out.String(), err
}

// What changes from run to run, or whenever a word of the static prompt does.
var (
	stamps    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`)
	addresses = regexp.MustCompile(`127\.0\.0\.1:\d+(?:->127\.0\.0\.1:\d+)?`)
	epochs    = regexp.MustCompile(`Instructions: \w+, \d+ characters`)
	tokensIn  = regexp.MustCompile(`Tokens: \d+ in(, [1-9]\d* %)?`)
	spent     = regexp.MustCompile(`\d+\.\d+ were spent`)
)

// plain takes out of a text what changes from run to run.
func (p *play) plain(s string) string {
	s = stamps.ReplaceAllString(s, "<time>")
	s = addresses.ReplaceAllString(s, "<address>")
	s = epochs.ReplaceAllString(s, "Instructions: <epoch>, <n> characters")
	s = spent.ReplaceAllString(s, "<n> were spent")
	s = tokensIn.ReplaceAllStringFunc(s, func(found string) string {
		if strings.HasSuffix(found, "%") { // how many depends on the length of clocks and addresses
			return "Tokens: <n> in, <n> %"
		}
		return "Tokens: <n> in"
	})
	return strings.ReplaceAll(strings.ReplaceAll(s, p.brain, "<brain>"), filepath.Base(p.brain), "<brain>")
}

// Lengths of time and hashes in what commands print.
var (
	millis = regexp.MustCompile(`\b\d+ ms\b`)
	column = regexp.MustCompile(`(?m)^(\d+  .*  (?:answered|silent|failed|stopped|refused))  \d+  `)
	hashes = regexp.MustCompile(`\b[0-9a-f]{8,64}\b`)
	sizes  = regexp.MustCompile(`\b\d+ (bytes|tokens in)\b`)
)

// printed gives what commands printed, without what changes from run to run.
func (p *play) printed() string {
	s := millis.ReplaceAllString(p.plain(p.commands.String()), "<n> ms")
	s = column.ReplaceAllString(s, "$1  <ms>  ")
	s = hashes.ReplaceAllString(s, "<hash>")
	return sizes.ReplaceAllString(s, "<n> $1")
}
