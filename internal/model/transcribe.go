package model

import (
	"bytes"
	"context"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// Transcribe gives the words of a recording, by POST /audio/transcriptions of the
// client's model; a recording without words gives "". name is a file name whose
// ending tells the format, as in "voice.ogg". Faults are treated as by Complete;
// servers report no usage here, so the cost of each Attempt is unknown.
func (c *Client) Transcribe(ctx context.Context, name string, audio []byte, attempt func(Attempt)) (string, error) {
	var text string
	err := c.walk(ctx, attempt, func(p Profile) (*call, error) {
		once := func(ctx context.Context, x *exchange) (Usage, error) {
			heard, err := x.library(p).CreateTranscription(ctx, openai.AudioRequest{
				Model: p.Model, FilePath: name, Reader: bytes.NewReader(audio), Format: openai.AudioResponseFormatJSON,
			})
			text = strings.TrimSpace(heard.Text)
			return Usage{}, err
		}
		return &call{once: once}, nil
	})
	return text, err
}
