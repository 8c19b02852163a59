package builtin

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"attache"
	"attache/internal/tools"
)

//go:embed words/voice_send.md
var voiceWords string

// voiceArgs are the arguments of voice_send (interface § 4).
type voiceArgs struct {
	Text string `json:"text,omitempty" jsonschema:"what to say aloud, in plain words"`
	Path string `json:"path,omitempty" jsonschema:"a recording instead: Opus in Ogg, assets/… of the brain or a path below this place's own folder"`
	sendArgs
}

// longestSpeech is how many characters servers say aloud in one call.
const longestSpeech = 4096

// voice is the tool voice_send.
func (d Deps) voice() attache.Tool {
	return tools.Make(attache.Tool{
		Name: "voice_send", Description: words(voiceWords),
		Capability: "notify:send", Risk: attache.RiskModerate, Effects: true, Keyed: true,
	}, func(ctx context.Context, c attache.Call, args voiceArgs) attache.Result {
		return d.send(ctx, c, args.sendArgs, func(ctx context.Context) (attache.Outgoing, string) { return d.record(ctx, c, args) })
	})
}

// record gives the recording that is to be sent.
func (d Deps) record(ctx context.Context, c attache.Call, args voiceArgs) (out attache.Outgoing, why string) {
	f := &attache.Upload{Kind: "voice", Name: "voice.ogg", MIME: "audio/ogg"}
	text := strings.TrimSpace(args.Text)
	switch n := utf8.RuneCountInString(text); {
	case (text == "") == (args.Path == ""):
		return out, "a voice message says a text or is a recording at path; give exactly one of them"
	case n > longestSpeech:
		return out, fmt.Sprintf("the text has %d characters and at most %d are said in one voice message; say less", n, longestSpeech)
	case text != "":
		var err error
		if f.Data, err = d.Speak(ctx, c, text); err != nil {
			return out, unsaid(err)
		}
		if !opusInOgg(f.Data) {
			return out, "the model that speaks answered with something that is no Opus in Ogg, which is what a voice message is; a person must choose another `speech:` in MANIFEST.yaml"
		}
		f.Says = "[voice] " + text
	default:
		if f.Data, why = d.open(c, args.Path); why != "" {
			return out, why
		}
		if !slices.Contains([]string{".ogg", ".oga", ".opus"}, strings.ToLower(path.Ext(args.Path))) || !opusInOgg(f.Data) {
			return out, fmt.Sprintf("%q is no Opus in Ogg, which is what a voice message is; send it with file_send", args.Path)
		}
		f.Says = "[voice " + path.Base(args.Path) + "]"
	}
	return attache.Outgoing{File: f}, ""
}

func unsaid(err error) string {
	if known, ok := errors.AsType[*attache.Error](err); ok {
		return known.Say
	}
	return "the text could not be said aloud; try again in a later turn"
}

// opusInOgg reports whether bytes begin as Ogg whose first packet is Opus's.
func opusInOgg(b []byte) bool {
	const head = 28 // bytes of an Ogg page with one segment
	return bytes.HasPrefix(b, []byte("OggS")) && bytes.HasPrefix(b[min(head, len(b)):], []byte("OpusHead"))
}
