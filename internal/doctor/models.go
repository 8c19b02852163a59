package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"attache/constitution"
	"attache/internal/brain"
	"attache/internal/brainfile"
	"attache/internal/model"
)

// echo is the model of a brain that tries the path and not the mind: nothing is asked.
const echo = "echo"

// entryOf names the entry under `models:` that a role uses.
func entryOf(r constitution.Role) string { return cmp.Or(r.Model.Text, "default") }

// spoken lists the roles that a rule gives the word to and a model speaks for, each
// once, in the order of the rules.
func spoken(b *brain.Brain) []constitution.Role {
	var out []constitution.Role
	for _, r := range b.Policy.Rulings() {
		role, ok := b.Frame.Role(r.Role)
		if !ok || r.Silenced || len(role.Engine.Command) > 0 || b.Frame.Manifest.Models[entryOf(role)].Model == echo {
			continue
		}
		if !slices.ContainsFunc(out, func(o constitution.Role) bool { return o.ID == role.ID }) {
			out = append(out, role)
		}
	}
	return out
}

// Mute finds the roles that a rule gives the word to and that no model can speak
// for: most likely a key is not set yet. One finding holds every role with the same
// reason, so that a missing key is told once.
func Mute(b *brain.Brain, getenv func(string) string) []Finding {
	byReason := map[string][]string{}
	var reasons []string
	for _, r := range spoken(b) {
		_, err := b.Profile(r.Model.Text, getenv)
		if err == nil {
			continue
		}
		if byReason[err.Error()] == nil {
			reasons = append(reasons, err.Error())
		}
		byReason[err.Error()] = append(byReason[err.Error()], string(r.ID))
	}
	var out []Finding
	for _, why := range reasons {
		out = append(out, Finding{Level: Warn, Check: "Models", What: fmt.Sprintf("%s cannot answer: %s", names("role", byReason[why]), why), Do: "then start it again"})
	}
	return out
}

// models finds the roles that no model can speak for, and asks the servers of the
// others what costs nothing.
func (s Subject) models(ctx context.Context) []Finding {
	out := Mute(s.Brain, s.Getenv)
	if s.Catalog == nil {
		return out
	}
	profiles, roles := map[string]model.Profile{}, spoken(s.Brain)
	for _, r := range roles {
		if p, err := s.Brain.Profile(r.Model.Text, s.Getenv); err == nil {
			profiles[entryOf(r)] = p
		}
	}
	servers, answered := s.askServers(ctx, profiles)
	out = append(out, servers...)
	return append(out, s.cacheMinimum(roles, answered)...)
}

// askServers asks each server of the profiles and their fallbacks once, all at the
// same time. answered are the names of the profiles whose server is somebody's service
// and knows its models.
func (s Subject) askServers(ctx context.Context, profiles map[string]model.Profile) (out []Finding, answered map[string]bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	byName := map[string]model.Profile{}
	for _, p := range profiles {
		for _, each := range append([]model.Profile{p}, p.Fallback...) {
			byName[each.Name] = each
		}
	}
	var list []model.Profile
	for _, p := range byName {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b model.Profile) int { return cmp.Compare(a.Name, b.Name) })
	found, known := make([][]Finding, len(list)), make([]bool, len(list))
	var wg sync.WaitGroup
	for i, p := range list {
		wg.Go(func() {
			catalog, err := s.Catalog(ctx, p)
			found[i], known[i] = s.ofServer(p, catalog, err), err == nil && catalog.Status == http.StatusOK && !local(p)
		})
	}
	wg.Wait()
	answered = map[string]bool{}
	for i, p := range list {
		answered[p.Name] = known[i]
	}
	return slices.Concat(found...), answered
}

// Catalog is what the server of a model answered to GET /models.
type Catalog struct {
	Status int      // of HTTP
	Models []string // that it serves; none when it does not say
}

// ofServer judges what the server of a model answered. One that keeps no list of its
// models is reached, and that is all that can be known without paying.
func (s Subject) ofServer(p model.Profile, c Catalog, err error) []Finding {
	add := func(level Level, what, do string) []Finding {
		f := Finding{Level: level, Check: "Models", What: what, Do: do}
		if line := s.Brain.Frame.Manifest.Models[p.Name].Lines["model"]; line > 0 {
			f = f.at(constitution.ManifestPath, line, 1)
		}
		return []Finding{f}
	}
	where := host(baseOf(p))
	switch {
	case err != nil:
		return add(Warn, fmt.Sprintf("the server of the model %s, %s, could not be asked: %s", p.Name, where, err), "check the network and its address")
	case c.Status == http.StatusUnauthorized || c.Status == http.StatusForbidden:
		return add(Fail, fmt.Sprintf("%s refuses the key of the model %s (%d)", where, p.Name, c.Status), "set "+s.keyOf(p)+" to a key that it takes")
	case c.Status >= 500:
		return add(Warn, fmt.Sprintf("%s, the server of the model %s, answers %d", where, p.Name, c.Status), "look at it again in a while; turns fall back to other models meanwhile")
	case len(c.Models) > 0 && !slices.Contains(c.Models, p.Model):
		return add(Warn, fmt.Sprintf("%s does not list the model %s of the entry %s", where, p.Model, p.Name), brainfile.Suggest(p.Model, c.Models, "name one that it serves"))
	}
	return nil
}

// keyOf names what holds the key of a model.
func (s Subject) keyOf(p model.Profile) string {
	m, ok := s.Brain.Frame.Manifest.Models[p.Name]
	if !ok {
		return "OPENAI_API_KEY"
	}
	return cmp.Or(m.APIKey.Env(), "apiKey of the model "+p.Name)
}

func baseOf(p model.Profile) string { return cmp.Or(p.BaseURL, "https://api.openai.com/v1") }

// local reports whether a model is served by this machine, which bills nobody.
func local(p model.Profile) bool {
	u, err := url.Parse(baseOf(p))
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// AskCatalog asks the server of a model which models it serves, by GET /models: that
// takes a key and costs nothing. The error holds no key.
func AskCatalog(ctx context.Context, client *http.Client, p model.Profile) (Catalog, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(baseOf(p), "/")+"/models", nil)
	if err != nil {
		return Catalog{}, err
	}
	if !p.APIKey.Empty() {
		req.Header.Set("Authorization", "Bearer "+p.APIKey.Reveal())
	}
	resp, err := client.Do(req)
	if err != nil {
		return Catalog{}, plain(err)
	}
	defer resp.Body.Close()
	c := Catalog{Status: resp.StatusCode}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if c.Status == http.StatusOK && json.NewDecoder(io.LimitReader(resp.Body, 4<<20)).Decode(&list) == nil {
		for _, m := range list.Data {
			c.Models = append(c.Models, m.ID)
		}
	}
	return c, nil
}

// plain takes the address out of an error of HTTP: it is named already, as far as it
// is nobody's secret.
func plain(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("it did not answer within seconds")
	}
	return err
}

// Servers keep the beginning of a prompt in their cache from this many tokens on, of
// about this many characters each.
const (
	cacheMinimum  = 1024
	charsPerToken = 4
)

// cacheMinimum finds roles whose requests begin too short for a server's cache. It is
// one note, and only where a service answered.
func (s Subject) cacheMinimum(roles []constitution.Role, answered map[string]bool) []Finding {
	var ids []string
	file := ""
	for _, r := range roles {
		if !answered[entryOf(r)] {
			continue
		}
		epoch, err := s.Brain.Static(r.ID, nil, "")
		if err != nil || utf8.RuneCountInString(epoch.Text)/charsPerToken >= cacheMinimum {
			continue
		}
		ids = append(ids, string(r.ID))
		if file == "" || r.Path < file {
			file = r.Path
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	return []Finding{Finding{Level: Note, Check: "Models",
		What: fmt.Sprintf("the static prompt of %s is shorter than %d tokens (its tools not counted), and servers keep nothing shorter in their cache", names("role", ids), cacheMinimum),
		Do:   "nothing, if its sessions are short: a session that grows past that is cached from there on"}.at(file, 1, 1)}
}
