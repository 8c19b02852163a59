package ods

import "testing"

func TestFirstHeading(t *testing.T) {
	for body, want := range map[string]string{
		"":                                 "",
		"text\n":                           "",
		"# One\n# Two\n":                   "One",
		"text\n\n###  Deep  ###\n":         "Deep",
		"   # Three spaces\n":              "Three spaces",
		"    # code\n# Real\n":             "Real",
		"#hashtag\n# Real":                 "Real",
		"####### seven\n# Real\n":          "Real",
		"# C#\n":                           "C#",
		"# #\n# Real\n":                    "Real",
		"Under\n=====\n":                   "Under",
		"Under\n---\n":                     "Under",
		"\n---\n# Real\n":                  "Real",
		"```md\n# no\n```\n# Real\n":       "Real",
		"````\n```\n# no\n````\n# Real\n":  "Real",
		"~~~\n# no\n```\n~~~~\n# Real\n":   "Real",
		"```\n# never closed\n":            "",
		"```\nUnder\n=====\n```\nx\n\n# R": "R",
		"> # quoted\n# Real\n":             "Real",
		"# Größe & <b>\n":                  "Größe & <b>",
	} {
		if got := heading(body); got != want {
			t.Errorf("%q gives %q, want %q", body, got, want)
		}
	}
}
