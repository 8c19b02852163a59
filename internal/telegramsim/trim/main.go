// Command trim makes the small copy of the Bot API description that the schema
// package embeds: names, types, required marks, allowed values and limits as
// numbers. Descriptions are read for their limits and then left out.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// source is the shape of the big file (shared/telegram/README.md).
type source struct {
	Version string            `json:"version"`
	Date    string            `json:"release_date"`
	From    string            `json:"derived_from"`
	Methods map[string]object `json:"methods"`
	Types   map[string]object `json:"types"`
}

type object struct {
	Returns  []string `json:"returns"`
	Subtypes []string `json:"subtypes"`
	Fields   []struct {
		Name        string   `json:"name"`
		Types       []string `json:"types"`
		Required    bool     `json:"required"`
		Enum        []any    `json:"enum"`
		Description string   `json:"description"`
	} `json:"fields"`
}

// field is one field of the small copy. Unit says what Min and Max count: chars
// (UTF-16 units), parsed (the same, after a parse mode has done its work), bytes,
// items or value.
type field struct {
	Name     string   `json:"name"`
	Types    []string `json:"types"`
	Required bool     `json:"required,omitempty"`
	Enum     []any    `json:"enum,omitempty"`
	Min      int      `json:"min,omitempty"`
	Max      int      `json:"max,omitempty"`
	Unit     string   `json:"unit,omitempty"`
}

type small struct {
	Fields  []field  `json:"fields,omitempty"`
	Union   []string `json:"union,omitempty"`
	Returns []string `json:"returns,omitempty"`
}

type output struct {
	Source  string           `json:"source"`
	Licence string           `json:"licence"`
	Version string           `json:"version"`
	Methods map[string]small `json:"methods"`
	Types   map[string]small `json:"types"`
}

func main() {
	from := flag.String("from", "", "path of the full description, bot-api-*.json")
	to := flag.String("to", "bot-api.json", "path of the small copy to write")
	flag.Parse()
	if err := trim(*from, *to); err != nil {
		fmt.Fprintln(os.Stderr, "trim:", err)
		os.Exit(1)
	}
}

func trim(from, to string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var in source
	if err := json.Unmarshal(raw, &in); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if len(in.Methods) == 0 || len(in.Types) == 0 {
		return fmt.Errorf("%s holds no methods or no types; it must be a bot-api-*.json", from)
	}
	out := output{
		Source:  in.From + ", names, types, required marks, values and limits only (" + in.Date + ")",
		Licence: "MIT",
		Version: in.Version,
		Methods: shrink(in.Methods),
		Types:   shrink(in.Types),
	}
	text, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return os.WriteFile(to, append(text, '\n'), 0o644)
}

func shrink(objects map[string]object) map[string]small {
	out := make(map[string]small, len(objects))
	for name, o := range objects {
		s := small{Union: o.Subtypes, Returns: o.Returns}
		for _, f := range o.Fields {
			n := field{Name: f.Name, Types: f.Types, Required: f.Required, Enum: f.Enum}
			n.Min, n.Max, n.Unit = limits(f.Types, f.Description)
			s.Fields = append(s.Fields, n)
		}
		out[name] = s
	}
	return out
}

// limits reads "1-4096 characters after entities parsing" and its relatives. A
// range of anything else (seconds, pixels) is not a limit of the value itself.
func limits(types []string, description string) (lo, hi int, unit string) {
	lengths := regexp.MustCompile(`(\d+)-(\d+) (characters|bytes|items)([^.;]*)`)
	if m := lengths.FindStringSubmatch(description); m != nil {
		lo, hi, unit = number(m[1]), number(m[2]), m[3]
		switch {
		case unit == "characters" && strings.Contains(m[4], "after entit"):
			unit = "parsed"
		case unit == "characters":
			unit = "chars"
		}
		return lo, hi, unit
	}
	values := regexp.MustCompile(`(?:Values between |, )(\d+)-(\d+)\b`)
	if m := values.FindStringSubmatch(description); m != nil && slices.Equal(types, []string{"Integer"}) {
		return number(m[1]), number(m[2]), "value"
	}
	return 0, 0, ""
}

func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}
