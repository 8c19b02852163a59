package heartbeat

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"attache"
	"attache/internal/archivetest"
	"attache/internal/brainfile"
	"attache/internal/brainfile/entity"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// frame is a brain with two bots, a role and a rule for one group.
func frame() Frame {
	return Frame{Zone: time.UTC, Frame: entity.Frame{
		Off: map[attache.FeatureID]bool{"off": true},
		Roles: map[attache.RoleID]entity.Standing{
			"desk": {}, "books": {Why: "the role books is of the feature off, which is switched off"}, "broken": {Why: "the role broken does not load", Said: true},
		},
		Bots: []attache.BotID{"nova", "vega"},
		Rule: func(p attache.Place) entity.Standing {
			switch p.Chat {
			case -1001:
				return entity.Standing{}
			case -1002:
				return entity.Standing{Why: "a mistake silences the rule tg:chat:-1002 on line 9", Said: true}
			}
			return entity.Standing{Why: fmt.Sprintf("constitution/access.yaml has no rule for %s", p.Chat)}
		},
		Body: func(file string, line int, body string) (string, []attache.Problem) {
			if at := strings.Index(body, "{{ foo }}"); at >= 0 {
				return "", []attache.Problem{{File: file, Line: line + strings.Count(body[:at], "\n"), Col: 1, What: "{{ foo }} is no selector of a body"}}
			}
			return strings.ReplaceAll(body, "{{ args.company }}", "Acme"), nil
		},
	}}
}

// read reads beats; pairs are paths and texts.
func read(f Frame, pairs ...string) ([]Beat, []attache.Problem) {
	var files []*brainfile.File
	for i := 0; i < len(pairs); i += 2 {
		files = append(files, brainfile.New(pairs[i], []byte(pairs[i+1])))
	}
	return Read(brainfile.Of(files...), f)
}

// beat makes one beat of a few keys.
func beat(t testing.TB, keys string) Beat {
	t.Helper()
	list, problems := read(frame(), "features/f/b.heartbeat.md", "---\nagent: desk\n"+keys+"\n---\nGo.\n")
	if len(list) != 1 || len(problems) > 0 {
		t.Fatalf("%s: %s", keys, archivetest.Sentences(problems))
	}
	return list[0]
}

// Each archive has beats and what doctor is told about them. Run with -update to
// write it anew, and read the difference.
func TestMistakes(t *testing.T) {
	archivetest.Run(t, "mistakes", 6, 1, func(t *testing.T, in []txtar.File) []string {
		var pairs []string
		for _, f := range in {
			pairs = append(pairs, f.Name, string(f.Data))
		}
		list, problems := read(frame(), pairs...)
		slices.SortStableFunc(problems, func(a, b attache.Problem) int { return strings.Compare(a.File, b.File) })
		text := archivetest.Sentences(problems)
		for _, b := range list {
			text += fmt.Sprintf("%s: %s\n", b.ID, or(b.Why, "runs"))
		}
		return []string{text}
	})
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// Every key of interface § 3.
//
// row B4
// row B10
func TestBeatWithEveryKey(t *testing.T) {
	f := frame()
	list, problems := read(f, "features/support/morning/sla.heartbeat.md", `---
description: What is late,
  each morning
cron: "0 9 * * 1-5"
timezone: Europe/Amsterdam
agent: desk
place: { bot: nova, chat: "tg:chat:-1001", thread: 42 }
reach: [ticket, policy]
hours: 08:00-22:00
catchUp: all
enabled: true
---

Look at {{ args.company }}.

`)
	if len(list) != 1 || problems != nil {
		t.Fatal(archivetest.Sentences(problems))
	}
	b := list[0]
	got := fmt.Sprintf("%s %s %s %s|%s|%s|%v|%v|%s|%s|%s|%s|%v|%q|%q|%d", b.Kind, b.ID, b.Feature, b.Folder, b.Path, b.Agent, b.Place, b.Reach, b.Description, b.Cron, b.Zone, b.Hours, b.CatchUp, b.Body, b.Why, b.Lines["hours"])
	want := `heartbeat sla support features/support/morning|features/support/morning/sla.heartbeat.md|desk|nova/-1001/42|[ticket policy]|What is late, each morning|0 9 * * 1-5|Europe/Amsterdam|08:00-22:00|all|"Look at Acme."|""|9`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What is left out: the brain's zone, the one bot there is, one run for all missed
// slots, no place, the layout's reach. `reach: []` is not the layout's.
//
// row B4
func TestDefaults(t *testing.T) {
	f := frame()
	f.Bots, f.Zone = []attache.BotID{"nova"}, zone(t, "Asia/Tokyo")
	list, problems := read(f,
		"features/f/a.heartbeat.md", "---\ncron: 0 9 * * *\nagent: desk\n---\n",
		"features/f/b.heartbeat.md", "---\ncron: 0 9 * * *\nagent: desk\nreach: []\nplace: { chat: -1001 }\n---\n \n",
	)
	if len(list) != 2 || problems != nil {
		t.Fatal(archivetest.Sentences(problems))
	}
	a, b := list[0], list[1]
	if a.Reach != nil || b.Reach == nil || len(b.Reach) != 0 {
		t.Errorf("a missing reach is %#v, an empty one %#v", a.Reach, b.Reach)
	}
	if (a.Place != attache.Place{}) || b.Place != (attache.Place{Bot: "nova", Chat: -1001}) {
		t.Error(a.Place, b.Place)
	}
	if a.Zone.String() != "Asia/Tokyo" || a.CatchUp != catchUpOnce || !a.Enabled || a.Body != "" || b.Body != "" {
		t.Errorf("%+v", a)
	}
}

// A beat whose file is right and that does not run says why.
func TestWhyNot(t *testing.T) {
	for _, c := range []struct{ path, keys, why string }{
		{"features/off/b.heartbeat.md", "agent: nobody", "the feature off is switched off"},
		{"features/f/b.heartbeat.md", "agent: nobody\nenabled: false", "enabled is false"},
		{"features/f/b.heartbeat.md", "agent: broken", "the role broken does not load"},
		{"features/f/b.heartbeat.md", "agent: desk\nplace: { bot: nova, chat: -1002 }", "no rule holds where the beat posts: a mistake silences the rule tg:chat:-1002 on line 9"},
	} {
		list, problems := read(frame(), c.path, "---\ncron: 0 9 * * *\n"+c.keys+"\n---\n")
		if len(list) != 1 || len(problems) > 0 || list[0].Why != c.why {
			t.Errorf("%s: %+v %s", c.keys, list, archivetest.Sentences(problems))
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"---\ncron: 0 9 * * 1-5\nagent: desk\nplace: { bot: nova, chat: -1001, thread: 4 }\nreach: [a]\nhours: 22:00-06:00\ncatchUp: all\n---\nGo.",
		"---\ncron: 0 0 29 2 *\nagent: desk\ntimezone: Australia/Lord_Howe\n---\n",
		"---\ncron: TZ=\nagent: desk\n---\n", "---\ncron: '*/0 7-7/9 sun-7 * fri-sun/2'\nagent: x\n---\n", "---\nplace:\n---\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, problems := read(frame(), "features/f/b.heartbeat.md", text)
		if len(list) == 0 && len(problems) == 0 {
			t.Fatal("the beat is neither read nor wrong")
		}
		for _, p := range problems {
			if p.File == "" || p.Line < 1 || p.Col < 1 || p.What == "" {
				t.Fatalf("%+v", p)
			}
		}
		now := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
		for _, b := range list {
			one := b.Next(now)
			two := b.Next(one)
			if !one.After(now) || !two.After(one) {
				t.Fatalf("%s has the slots %s and %s", b.Cron, one, two)
			}
		}
	})
}
