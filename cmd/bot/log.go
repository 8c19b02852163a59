package main

import (
	"io"
	"log/slog"
	"strings"

	"attache"
)

// newLog makes the log that ATTACHE_LOG asks for: words, by comma, of text, json,
// debug, info, warn, error. Secrets are taken out of every value on the way, as a
// second fence behind attache.Secret.
func newLog(w io.Writer, words string, secrets []attache.Secret) (*slog.Logger, error) {
	o := &slog.HandlerOptions{ReplaceAttr: hide(secrets)}
	json := false
	for word := range strings.SplitSeq(words, ",") {
		switch word = strings.TrimSpace(word); word {
		case "text", "":
		case "json":
			json = true
		case "debug", "info", "warn", "error":
			var l slog.Level
			_ = l.UnmarshalText([]byte(word)) // the four words above are levels
			o.Level = l
		default:
			return nil, misused("--log %q is neither text, json nor a level; write text, json or for example json,debug", word)
		}
	}
	if json {
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return slog.New(slog.NewTextHandler(w, o)), nil
}

// hide gives the function that takes secrets out of a log's values.
func hide(secrets []attache.Secret) func([]string, slog.Attr) slog.Attr {
	var pairs []string
	for _, s := range secrets {
		if !s.Empty() {
			pairs = append(pairs, s.Reveal(), "[secret]")
		}
	}
	replace := strings.NewReplacer(pairs...)
	return func(_ []string, a slog.Attr) slog.Attr {
		switch v := a.Value.Any().(type) {
		case string:
			a.Value = slog.StringValue(replace.Replace(v))
		case error:
			a.Value = slog.StringValue(replace.Replace(v.Error()))
		}
		return a
	}
}
