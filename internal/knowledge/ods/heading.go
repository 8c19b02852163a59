package ods

import "strings"

// heading gives the first heading of a Markdown text, "" for none. What stands in a
// fence of code is no heading: a document that begins with an example of Markdown would
// have the title of the example. Headings may be marked in front (#) or below (=== or
// ---); four spaces before either make it code. A whole Markdown reader would do no more
// for one line, and ten thousand documents would pay for it.
func heading(body string) string {
	fence, before := "", ""
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, " \t\n")
		bare := strings.TrimLeft(line, " ")
		mark := fenceMark(bare)
		switch {
		case len(line)-len(bare) > 3:
			before = ""
			continue
		case fence != "":
			if strings.HasPrefix(mark, fence) && mark == bare {
				fence = ""
			}
			continue
		case mark != "":
			fence, before = mark, ""
			continue
		case before != "" && bare != "" && (strings.Trim(bare, "=") == "" || strings.Trim(bare, "-") == ""):
			return before
		}
		level := len(bare) - len(strings.TrimLeft(bare, "#"))
		if before = bare; level >= 1 && level <= 6 && strings.HasPrefix(bare[level:], " ") {
			if title := closed(strings.TrimSpace(bare[level:])); title != "" {
				return title
			}
			before = ""
		}
	}
	return ""
}

// fenceMark gives the run of ` or ~ that opens or closes a fence of code.
func fenceMark(line string) string {
	for _, sign := range []string{"`", "~"} {
		if run := line[:len(line)-len(strings.TrimLeft(line, sign))]; len(run) >= 3 {
			return run
		}
	}
	return ""
}

// closed takes away the signs that may close a heading. Without a space before them they
// belong to the words, as in C#.
func closed(title string) string {
	bare := strings.TrimRight(title, "#")
	if bare == "" || strings.HasSuffix(bare, " ") {
		return strings.TrimSpace(bare)
	}
	return title
}
