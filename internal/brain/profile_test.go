package brain

import (
	"fmt"
	"strings"
	"testing"

	"attache/internal/model"
)

// profiled gives the profile of a brain with a MANIFEST and an environment of lines
// NAME=value.
func profiled(t *testing.T, yaml, name string, env ...string) (model.Profile, error) {
	t.Helper()
	dir := small(t)
	write(t, dir, manifest, yaml)
	b, problems, err := Load(dir, nil)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, sentences(problems))
	}
	return b.Profile(name, func(name string) string {
		for _, line := range env {
			if value, ok := strings.CutPrefix(line, name+"="); ok {
				return value
			}
		}
		return ""
	})
}

// The entry of interface § 3, with what it falls back to.
func TestProfileOfManifest(t *testing.T) {
	const yaml = `models:
  default: { model: gpt-5-mini, baseUrl: env:OPENAI_BASE_URL, apiKey: env:OPENAI_API_KEY, fallback: [backup, last], price: { in: 0.25, cached: 0.025, out: 2.00 } }
  backup: { model: other, baseUrl: "http://localhost:1/v1", profile: plain, contextRole: user, temperature: 0, maxTokens: 100, fallback: [third, last] }
  third: { model: openai/gpt-4o, apiKey: sk-third, profile: auto, price: { in: 1, out: 2 } }
  last: { model: big, apiKey: sk-last, profile: openai }
`
	p, err := profiled(t, yaml, "", "OPENAI_API_KEY=sk-first")
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "default" || p.Model != "gpt-5-mini" || p.BaseURL != "" || p.APIKey.Reveal() != "sk-first" || *p.Price.Cached != 0.025 || p.Price.Out != 2 ||
		p.Dialect != model.DialectAuto || p.Temperature != nil || p.MaxTokens != 0 || !p.Vision || !p.Files || p.ContextRole != "" {
		t.Errorf("%+v", p)
	}
	var chain []string
	for _, f := range p.Fallback {
		chain = append(chain, f.Name)
	}
	if got := strings.Join(chain, " "); got != "backup third last" {
		t.Errorf("falls back to %s", got)
	}
	backup, third, last := p.Fallback[0], p.Fallback[1], p.Fallback[2]
	if backup.BaseURL != "http://localhost:1/v1" || !backup.APIKey.Empty() || backup.Dialect != model.DialectPlain || backup.ContextRole != model.RoleUser ||
		*backup.Temperature != 0 || backup.MaxTokens != 100 || backup.Price != nil || backup.Vision || len(backup.Fallback) != 0 {
		t.Errorf("%+v", backup)
	}
	if third.APIKey.Reveal() != "sk-third" || third.Dialect != model.DialectAuto || !third.Vision || third.Price.Cached != nil || last.Dialect != model.DialectOpenAI || !last.Vision {
		t.Errorf("%+v %+v", third, last)
	}
	if printed := fmt.Sprintf("%v %+v %#v", p, p, p); strings.Contains(printed, "sk-") {
		t.Error("a profile prints its keys: " + printed)
	}
	if p, err := profiled(t, yaml, "third"); err != nil || p.Name != "third" || len(p.Fallback) != 0 {
		t.Errorf("%v %v", p, err)
	}
}

func TestProfileOfEnvironment(t *testing.T) {
	p, err := profiled(t, "name: Shop\n", "default", "OPENAI_API_KEY= sk-1\n")
	if err != nil || p.Name != "default" || p.Model != "gpt-5-mini" || p.APIKey.Reveal() != "sk-1" || p.BaseURL != "" || p.Price != nil || !p.Vision {
		t.Errorf("%+v %v", p, err)
	}
	p, err = profiled(t, "models: { fast: { model: x, apiKey: k } }\n", "", "OPENAI_MODEL=llama", "OPENAI_BASE_URL=http://127.0.0.1:9/v1")
	if err != nil || p.Model != "llama" || p.BaseURL != "http://127.0.0.1:9/v1" || !p.APIKey.Empty() || p.Vision || p.Files {
		t.Errorf("%+v %v", p, err)
	}
}

// What cannot be asked is said with what to set, and no value of a setting is.
func TestProfilesThatCannotBeUsed(t *testing.T) {
	for _, c := range []struct {
		yaml, name, want string
		env              []string
	}{
		{"name: Shop\n", "", "there is no model to ask: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, or add a default to models in constitution/MANIFEST.yaml", nil},
		{"name: Shop\n", "", "the model of the environment: OPENAI_BASE_URL is no web address; write it as https://host/v1", []string{"OPENAI_BASE_URL=hunter2:80"}},
		{"models: { fast: { model: x, apiKey: k } }\n", "fsat", `constitution/MANIFEST.yaml has no model "fsat"; did you mean fast?`, nil},
		{"models: { fast: { model: x, apiKey: env:KEY } }\n", "fast", "the model fast of constitution/MANIFEST.yaml: KEY is not set; set it to the key of OpenAI, or give a baseUrl", nil},
		{"models: { fast: { model: x } }\n", "fast", "the model fast of constitution/MANIFEST.yaml has no apiKey; write apiKey: env:OPENAI_API_KEY, or give a baseUrl", nil},
		{"models: { fast: { model: x, baseUrl: env:BASE, apiKey: hunter2 } }\n", "fast", "the model fast of constitution/MANIFEST.yaml: BASE is no web address; write it as https://host/v1", []string{"BASE=/hunter2"}},
		{"models: { fast: { model: x, apiKey: hunter2, fallback: [spare] }, spare: { model: y, apiKey: env:KEY } }\n", "fast", "the model spare of constitution/MANIFEST.yaml: KEY is not set; set it to the key of OpenAI, or give a baseUrl", nil},
	} {
		p, err := profiled(t, c.yaml, c.name, c.env...)
		if err == nil || err.Error() != c.want || p.Model != "" {
			t.Errorf("%s: %v, want %s", c.yaml, err, c.want)
		}
	}
}

// What MANIFEST takes as a profile, and only that, is a dialect of a model.
func TestProfilesAreDialects(t *testing.T) {
	for _, word := range []string{"auto", "openai", "plain", "azure", "OpenAI"} {
		dir := small(t)
		write(t, dir, manifest, "models: { default: { model: x, apiKey: k, profile: "+word+" } }\n")
		_, problems, _ := Load(dir, nil)
		if _, err := model.ParseDialect(word); (err == nil) != (len(problems) == 0) {
			t.Errorf("%s: %v %s", word, err, sentences(problems))
		}
	}
}

func TestSenses(t *testing.T) {
	for name, want := range map[string]bool{
		"gpt-4o": true, "gpt-4o-mini": true, "openai/gpt-5-mini": true, "GPT-5.1": true, "gpt-4.1-nano": true, "o4-mini": true, "o3": true,
		"o3-mini": false, "gpt-4": false, "gpt-50": false, "gpt-oss-120b": false, "llama-3": false, "": false,
	} {
		if vision, files := senses(model.Profile{Model: name}); vision != want || files != want {
			t.Errorf("%s: pictures %v, documents %v", name, vision, files)
		}
	}
}
