package brain

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"attache"
	"attache/constitution"
	"attache/internal/brainfile"
	"attache/internal/model"
)

// defaultModel is the model of the environment when OPENAI_MODEL names none.
const defaultModel = "gpt-5-mini"

// Profile gives the model that a name stands for: an entry of MANIFEST's models
// with everything it falls back to, or for "default" and "" what OPENAI_API_KEY,
// OPENAI_BASE_URL and OPENAI_MODEL say, as long as MANIFEST has no default of its
// own (interface § 2). getenv knows of NAME_FILE. The error says which entry cannot
// be used and what to set, and holds no value of a setting.
func (b *Brain) Profile(name string, getenv func(name string) string) (model.Profile, error) {
	name = cmp.Or(name, "default")
	models := b.Frame.Manifest.Models
	if _, ok := models[name]; !ok && name == "default" {
		return fromEnvironment(getenv)
	} else if !ok {
		known := append(slices.Collect(maps.Keys(models)), "default")
		return model.Profile{}, fmt.Errorf("%s has no model %q; %s", constitution.ManifestPath, name, brainfile.Suggest(name, known, "add it to models"))
	}
	var all []model.Profile
	var wrong []error
	for _, entry := range chain(models, name, nil) {
		p, err := profile(entry, models[entry], getenv)
		all, wrong = append(all, p), append(wrong, err)
	}
	if err := errors.Join(wrong...); err != nil {
		return model.Profile{}, err
	}
	first := all[0]
	first.Fallback = all[1:]
	return first, nil
}

// chain lists an entry and, in the order in which they are asked, all that it falls
// back to: each of its fallbacks followed by those of that one, none twice.
func chain(models map[string]constitution.Model, name string, before []string) []string {
	if _, ok := models[name]; !ok || slices.Contains(before, name) {
		return before
	}
	before = append(before, name)
	for _, to := range models[name].Fallback {
		before = chain(models, to.Text, before)
	}
	return before
}

// profile resolves one entry.
func profile(name string, m constitution.Model, getenv func(string) string) (model.Profile, error) {
	dialect, err := model.ParseDialect(m.Profile)
	if err != nil {
		return model.Profile{}, fmt.Errorf("the model %s of %s: %w", name, constitution.ManifestPath, err)
	}
	p := model.Profile{
		Name: name, Model: m.Model,
		BaseURL: strings.TrimSpace(m.BaseURL.Resolve(getenv).Reveal()),
		APIKey:  m.APIKey.Resolve(getenv),
		Dialect: dialect, ContextRole: model.Role(m.ContextRole), Temperature: m.Temperature,
	}
	if m.MaxTokens != nil {
		p.MaxTokens = *m.MaxTokens
	}
	if m.Price != nil {
		p.Price = &model.Price{In: m.Price.In, Cached: m.Price.Cached, Out: m.Price.Out}
	}
	p.Vision, p.Files = senses(p)
	source := fmt.Sprintf("the model %s of %s", name, constitution.ManifestPath)
	return p, reachable(p, source, m.BaseURL.Env(), m.APIKey.Env())
}

// fromEnvironment is the model of a brain that names none.
func fromEnvironment(getenv func(string) string) (model.Profile, error) {
	p := model.Profile{
		Name:    "default",
		Model:   cmp.Or(strings.TrimSpace(getenv("OPENAI_MODEL")), defaultModel),
		BaseURL: strings.TrimSpace(getenv("OPENAI_BASE_URL")),
		APIKey:  attache.NewSecret(strings.TrimSpace(getenv("OPENAI_API_KEY"))),
	}
	p.Vision, p.Files = senses(p)
	if p.BaseURL == "" && p.APIKey.Empty() {
		return model.Profile{}, errors.New("there is no model to ask: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, or add a default to models in " + constitution.ManifestPath)
	}
	if err := reachable(p, "the model of the environment", "OPENAI_BASE_URL", "OPENAI_API_KEY"); err != nil {
		return model.Profile{}, err
	}
	return p, nil
}

// reachable refuses a profile that no server can be asked with. A server of one's
// own may want no key; OpenAI's own always does.
func reachable(p model.Profile, source, baseEnv, keyEnv string) error {
	u, err := url.Parse(p.BaseURL)
	switch {
	case p.BaseURL != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == ""):
		return fmt.Errorf("%s: %s is no web address; write it as https://host/v1", source, cmp.Or(baseEnv, "baseUrl"))
	case p.BaseURL == "" && p.APIKey.Empty() && keyEnv != "":
		return fmt.Errorf("%s: %s is not set; set it to the key of OpenAI, or give a baseUrl", source, keyEnv)
	case p.BaseURL == "" && p.APIKey.Empty():
		return fmt.Errorf("%s has no apiKey; write apiKey: env:OPENAI_API_KEY, or give a baseUrl", source)
	}
	return nil
}

// senses tells whether a model takes pictures and documents. No server says so, and
// one that does not take them refuses the whole request: so only the families of
// which it is known, at any server, and whatever is written to as OpenAI's own.
func senses(p model.Profile) (vision, files bool) {
	name := strings.ToLower(p.Model)
	name = name[strings.LastIndexByte(name, '/')+1:] // routers write openai/gpt-5-mini
	known := slices.ContainsFunc([]string{"gpt-4o", "gpt-4.1", "gpt-5", "gpt-6", "o3", "o4"}, func(family string) bool {
		return name == family || strings.HasPrefix(name, family+"-") || strings.HasPrefix(name, family+".")
	}) && !strings.HasPrefix(name, "o3-mini") // reads text alone
	switch p.Dialect {
	case model.DialectPlain:
		return false, false
	case model.DialectOpenAI:
		return true, true
	}
	return known, known
}
