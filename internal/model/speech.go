package model

import (
	"context"
	"io"

	openai "github.com/sashabaranov/go-openai"
)

// voice is who speaks. Every server of this kind knows OpenAI's first voice, and
// MANIFEST has no key for another.
const voice = openai.VoiceAlloy

// Speech has words said aloud, by POST /audio/speech of the client's model: a
// recording that was asked for as a voice message has it, Opus in Ogg. What a server
// makes of that is not looked at. Faults are treated as by Complete; servers report
// no usage here, so the cost of each Attempt is unknown.
func (c *Client) Speech(ctx context.Context, words string, attempt func(Attempt)) ([]byte, error) {
	var sound []byte
	err := c.walk(ctx, attempt, func(p Profile) (*call, error) {
		once := func(ctx context.Context, x *exchange) (Usage, error) {
			answer, err := x.library(p).CreateSpeech(ctx, openai.CreateSpeechRequest{
				Model: openai.SpeechModel(p.Model), Input: words, Voice: voice, ResponseFormat: openai.SpeechResponseFormatOpus,
			})
			if err != nil {
				return Usage{}, err
			}
			defer answer.Close()
			sound, err = io.ReadAll(answer)
			return Usage{}, err
		}
		return &call{once: once}, nil
	})
	if err != nil {
		return nil, err // not the half of a recording
	}
	return sound, nil
}
