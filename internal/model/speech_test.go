package model_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"attache/internal/model"
	"attache/internal/model/modeltest"
)

func TestSpeech(t *testing.T) {
	s := modeltest.New(t, modeltest.Once(modeltest.Status(500, "oops")), modeltest.Once(modeltest.Text("Hello.")), modeltest.Rule{Answer: modeltest.Status(401, key)})
	r := newRig(t, profile("speech", s), nil)
	note := func(a model.Attempt) { r.attempts = append(r.attempts, a) }
	sound, err := r.client.Speech(t.Context(), "Hello, \"Ann\" 👋", note)
	if err != nil || !bytes.Equal(sound, modeltest.Speech("Hello.")) {
		t.Fatalf("%q, %v", sound, err)
	}
	q := s.Requests()[1]
	var sent map[string]any
	if err := json.Unmarshal(q.Raw, &sent); err != nil {
		t.Fatal(err)
	}
	if q.Path != "/v1/audio/speech" || q.Model != "speech-model" || q.Speak != "Hello, \"Ann\" 👋" || sent["response_format"] != "opus" || sent["voice"] != "alloy" {
		t.Errorf("request: %s %s", q.Path, q.Raw)
	}
	if q.Header.Get("Authorization") != "Bearer "+key {
		t.Errorf("the key is not sent")
	}
	if len(r.attempts) != 2 || r.attempts[0].Status != 500 || r.attempts[1].CostKnown {
		t.Errorf("attempts: %+v", r.attempts)
	}
	if sound, err := r.client.Speech(t.Context(), "Again.", nil); sound != nil || strings.Contains(cause(t, err), key) {
		t.Errorf("%q; the key shows: %v", sound, err)
	}
}
