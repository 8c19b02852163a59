package tools

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// The library follows references without counting them, and a schema that refers
// to itself in place would end in a stack overflow, which Go cannot recover from:
// one odd MCP server would end the process. So references are looked through
// before a schema is used, and a form that this does not understand is refused.

// refs is a walk through the references of one schema, decoded as plain JSON.
type refs struct {
	root  any
	state map[uintptr]int // by identity of a map: 1 while it is followed, 2 when it is done
}

// endless says why a schema's references cannot be followed safely.
func endless(root any) error {
	r := &refs{root, map[uintptr]int{}}
	return r.walk(root, true)
}

// walk follows every schema below a value. It takes every object for one, which
// may at worst refuse a strange schema.
func (r *refs) walk(value any, top bool) error {
	switch v := value.(type) {
	case []any:
		for _, inner := range v {
			if err := r.walk(inner, false); err != nil {
				return err
			}
		}
	case map[string]any:
		if _, named := v["$id"].(string); named && !top {
			return errors.New("a part of it has an $id of its own; leave it out")
		}
		if err := r.follow(v); err != nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if slices.Contains([]string{"default", "examples", "enum", "const"}, key) {
				continue // values, not schemas
			}
			if err := r.walk(v[key], false); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow goes from one schema to all that judge the same value; items and
// properties go one step into it, and so come to an end by themselves.
func (r *refs) follow(s map[string]any) error {
	id := reflect.ValueOf(s).Pointer()
	switch r.state[id] {
	case 1:
		return errors.New("it refers to itself without going deeper into the value, so checking would never end")
	case 2:
		return nil
	}
	r.state[id] = 1
	for _, key := range []string{"$dynamicRef", "$recursiveRef"} {
		if _, ok := s[key].(string); ok {
			return fmt.Errorf("it uses %s; use $ref", key)
		}
	}
	var next []any
	if ref, ok := s["$ref"].(string); ok {
		target, err := r.target(ref)
		if err != nil {
			return err
		}
		next = append(next, target)
	}
	for _, key := range []string{"not", "if", "then", "else"} {
		next = append(next, s[key])
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[key].([]any)
		next = append(next, list...)
	}
	for _, key := range []string{"dependentSchemas", "dependencies"} {
		named, _ := s[key].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(named)) {
			next = append(next, named[name])
		}
	}
	for _, n := range next {
		if inner, ok := n.(map[string]any); ok {
			if err := r.follow(inner); err != nil {
				return err
			}
		}
	}
	r.state[id] = 2
	return nil
}

// target finds what a reference within the document means: "#" or a JSON pointer.
func (r *refs) target(ref string) (any, error) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || path != "" && path[0] != '/' || strings.Contains(path, "%") {
		return nil, fmt.Errorf("it refers to %q; only references into itself, such as #/$defs/name, are followed", shown(ref))
	}
	at := r.root
	for _, step := range strings.Split(path, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch v := at.(type) {
		case map[string]any:
			at = v[step]
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(v) {
				return nil, fmt.Errorf("it refers to %q, which it does not hold", shown(ref))
			}
			at = v[n]
		default:
			at = nil
		}
	}
	if at == nil {
		return nil, fmt.Errorf("it refers to %q, which it does not hold", shown(ref))
	}
	return at, nil
}
