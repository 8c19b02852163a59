package main

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"attache/internal/model/modeltest"
	"attache/internal/telegramsim"
)

// A picture of the brain is shown as one, and where Telegram does not take it as one
// it arrives as a document, each time with all of its bytes.
//
// row L8 (photos and documents out)
func TestAPictureGoesOut(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 40, 30))); err != nil {
		t.Fatal(err)
	}
	brain := deskBrain(t, "")
	if err := os.Mkdir(filepath.Join(brain, "assets"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(brain, "assets", "chart.png"), picture.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	s := newStage(t)
	s.sim.Break(telegramsim.Fault{Method: "sendPhoto", Kind: telegramsim.Refuse, Skip: 1, Text: "IMAGE_PROCESS_FAILED"})
	send := modeltest.Once(modeltest.Use("file_send", `{"path":"assets/chart.png","caption":"The *chart*"}`))
	s.startMind(brain, send, modeltest.Once(modeltest.Text("There.")), send, modeltest.Once(modeltest.Text("And again.")))
	dm := s.sim.DM(s.ann, s.bot)
	dm.Say(s.ann, "the chart, please")
	s.await(dm, 2)
	dm.Say(s.ann, "once more")
	s.await(dm, 4)
	for i, kind := range map[int]string{0: "photo", 2: "document"} {
		p := dm.Posts()[i]
		if p.File == nil || p.File.Kind != kind || p.File.Name != "chart.png" || !bytes.Equal(p.File.Data, picture.Bytes()) {
			t.Errorf("post %d carries %+v", i, p.File)
		}
		if p.Text != "The chart" || len(p.Marks) != 1 {
			t.Errorf("post %d says %q with %v", i, p.Text, p.Marks)
		}
	}
}
