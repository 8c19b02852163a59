package main

import (
	"fmt"
	"slices"
	"strings"

	"attache/internal/brain"
	"attache/internal/doctor"
)

// mute finds the roles that a rule gives the word to and that no model can speak
// for: most likely a key is not set yet. One finding holds every role with the same
// reason, so that a missing key is told once.
func mute(b *brain.Brain, getenv func(string) string) []doctor.Finding {
	byReason := map[string][]string{}
	var order []string
	for _, r := range b.Policy.Rulings() {
		role, ok := b.Frame.Role(r.Role)
		if !ok || r.Silenced || len(role.Engine.Command) > 0 || modelOf(b, role).Model == echoModel {
			continue
		}
		_, err := b.Profile(role.Model.Text, getenv)
		if err == nil || slices.Contains(byReason[err.Error()], string(role.ID)) {
			continue
		}
		if byReason[err.Error()] == nil {
			order = append(order, err.Error())
		}
		byReason[err.Error()] = append(byReason[err.Error()], string(role.ID))
	}
	var found []doctor.Finding
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"} {
		if _, err := secretEnv(name); err != nil {
			found = append(found, doctor.Finding{Level: doctor.Warn, Check: "Models", What: err.Error(), Do: "then start it again"})
		}
	}
	for _, reason := range order {
		found = append(found, doctor.Finding{Level: doctor.Warn, Check: "Models", What: fmt.Sprintf("%s cannot answer: %s", roleNames(byReason[reason]), reason), Do: "then start it again"})
	}
	return found
}

// roleNames writes "the role home" or "the roles desk and home".
func roleNames(ids []string) string {
	if len(ids) == 1 {
		return "the role " + ids[0]
	}
	return "the roles " + strings.Join(ids[:len(ids)-1], ", ") + " and " + ids[len(ids)-1]
}
