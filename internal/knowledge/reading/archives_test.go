package reading

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"attache/internal/archivetest"
	"attache/internal/knowledge/ods"
)

// workspace makes one of the files of an archive. A file's \r, \ufeff and \xff are
// written as they are here.
func workspace(files []txtar.File) *ods.Workspace {
	fsys := fstest.MapFS{}
	for _, f := range files {
		text := strings.NewReplacer(`\r`, "\r", `\ufeff`, "\ufeff", `\xff`, "\xff").Replace(string(f.Data))
		fsys[f.Name] = &fstest.MapFile{Data: []byte(text)}
	}
	return ods.Read(fsys, false)
}

// Each archive is a workspace, a file `ask` with a line for each list, and the lists.
//
// row K3
// row K4
// row K5
func TestLists(t *testing.T) {
	archivetest.Run(t, "lists", 8, 1, func(t *testing.T, in []txtar.File) []string {
		last := len(in) - 1
		w := workspace(in[:last])
		var b strings.Builder
		for line := range strings.Lines(string(in[last].Data)) {
			fmt.Fprint(&b, "> "+line+asked(t, w, strings.Fields(line)))
		}
		return []string{b.String()}
	})
}

// asked gives the outline of a list: everything but the texts, unless they are asked for.
func asked(t *testing.T, w *ods.Workspace, words []string) string {
	var o Options
	query, texts := "", false
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		n, _ := strconv.Atoi(value)
		switch name {
		case "tokens":
			o.MaxTokens = n
		case "depth":
			o.MaxDepth = &n
		case "code":
			o.WithCode = true
		case "related":
			o.WithRelated = true
		case "privileged":
			o.Privileged = true
		case "texts":
			texts = true
		default:
			query = word
		}
	}
	list, err := Find(w, query, o)
	if err != nil {
		return "no list: " + err.Error() + "\n"
	}
	if texts {
		return list.String()
	}
	var b strings.Builder
	for _, i := range list.Items {
		fmt.Fprintf(&b, "%s (%s, %d)\n", i.Path, i.Reason(), i.Tokens)
	}
	for _, l := range list.Left {
		fmt.Fprintf(&b, "  not %s (%s)\n", l.Path, l.Reason())
	}
	for _, warning := range list.Warnings {
		fmt.Fprintln(&b, "  warning: "+warning)
	}
	return b.String()
}
