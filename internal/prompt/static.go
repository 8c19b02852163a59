package prompt

import (
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"attache"
)

// The words of the static prompt that are ours; see text/.
//
//go:embed text/*.md
var texts embed.FS

// Static is what one role's static prompt is made of (decisions § 4). Nothing in
// it may change from turn to turn.
type Static struct {
	Library     *Library          // what selectors of Principles and Role may name
	Entities    []string          // key kinds of the contexts that the role admits
	Memory      bool              // the role reads or writes memories
	Skills      map[string]string // the role's own skills: name to description
	Principles  Text              // constitution/principles.md
	Agents      map[string]string // every other enabled role: id to description
	Tooling     string            // the tooling guide
	Role        Text              // the body of the role's file
	Catalog     string            // lines of the contexts that can be opened; empty without context:read
	Corrections string            // the shared context, already formatted; stands last and unchanged
	Tools       []byte            // the tool list exactly as the model gets it
}

// Epoch is one instruction epoch: the exact bytes of a static prompt. Equal bytes
// and an equal tool list give an equal id; an argument, block or pack that nobody
// uses changes nothing (matrix J4).
type Epoch struct {
	ID   string // 32 hex digits
	Text string
}

// Compile renders the static prompt of a role. With any problem there is no
// epoch and the role does not load: a prompt with holes is worse than none.
// Required arguments that nobody supplies are one problem that names all of them,
// at the prompt's own file (interface § 3).
func Compile(s Static) (Epoch, []attache.Problem) {
	principles := s.Library.render(s.Principles, "", nil)
	role := s.Library.render(s.Role, "", nil)
	problems := append(principles.problems, role.problems...)
	if p := unsupplied(s, principles, role); p != nil {
		problems = append(problems, *p)
	}
	if len(problems) > 0 {
		return Epoch{}, problems
	}
	text := strings.Join(sections(s, principles.out, role.out), "\n\n")
	return Epoch{ID: epochID(text, s.Tools), Text: text}, nil
}

func unsupplied(s Static, principles, role rendering) *attache.Problem {
	at, file := role.first, s.Role
	if len(role.missing) == 0 {
		at, file = principles.first, s.Principles
	}
	all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(role.missing, principles.missing))))
	if len(all) == 0 {
		return nil
	}
	p := file.problem(at, "nobody supplies these required arguments: "+strings.Join(all, ", "),
		"set them under args in MANIFEST.yaml")
	return &p
}

// sections gives the sections in their one order, without the empty ones.
func sections(s Static, principles, role string) []string {
	memory := ""
	if s.Memory {
		memory = heading("memory")
	}
	all := []string{
		heading("platform"),
		heading("protocol"),
		section("entities", list(s.Entities)),
		heading("session"),
		memory,
		section("skills", directory(s.Skills)),
		section("workspace", principles),
		section("agents", directory(s.Agents)),
		section("tooling", s.Tooling),
		section("role", role),
		section("catalog", s.Catalog),
		strings.Trim(s.Corrections, "\n"),
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// heading reads one of our texts. They are compiled in, so one that is missing is
// a mistake of the build, caught by every test of this package.
func heading(name string) string {
	b, err := texts.ReadFile("text/" + name + ".md")
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(b))
}

func section(name, body string) string {
	if strings.TrimSpace(body) == "" {
		return ""
	}
	return heading(name) + "\n\n" + strings.Trim(body, "\n")
}

func list(names []string) string {
	lines := make([]string, 0, len(names))
	for _, n := range slices.Compact(slices.Sorted(slices.Values(names))) {
		lines = append(lines, "- "+oneLine(n))
	}
	return strings.Join(lines, "\n")
}

func directory(entries map[string]string) string {
	lines := make([]string, 0, len(entries))
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		line := "- " + name
		if d := oneLine(entries[name]); d != "" {
			line += ": " + d
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// oneLine keeps a list a list.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func epochID(text string, tools []byte) string {
	return digest([]byte(text), tools)
}

// CacheKey is the prompt_cache_key of a request: the same for all that share a
// static prefix, and telling nothing about it (decisions § 4).
func CacheKey(bot attache.BotID, role attache.RoleID, e Epoch) string {
	return digest([]byte(bot), []byte(role), []byte(e.ID))
}

// digest hashes parts with their lengths, so that no two lists of parts run
// together, and gives 32 hex digits.
func digest(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
