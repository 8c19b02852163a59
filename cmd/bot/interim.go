package main

import (
	"attache"
	"attache/internal/brain"
	"attache/internal/model"
	"attache/internal/prompt"
)

// interimStatic compiles a role's prompt until internal/brain does it itself.
func interimStatic(b *brain.Brain, role attache.RoleID, tools []byte) (prompt.Epoch, error) {
	lib, problems := prompt.NewLibrary(prompt.Sources{Args: b.Frame.Manifest.Args})
	if len(problems) > 0 {
		return prompt.Epoch{}, problems[0]
	}
	r, _ := b.Frame.Role(role)
	e, problems := prompt.Compile(prompt.Static{Library: lib, Tools: tools,
		Principles: prompt.Text{File: "constitution/principles.md", Line: 1, Body: b.Frame.Principles},
		Role:       prompt.Text{File: r.Path, Line: r.PersonaLine, Body: r.Persona}})
	if len(problems) > 0 {
		return prompt.Epoch{}, problems[0]
	}
	return e, nil
}

// interimProfile reads a model's entry until internal/brain does it itself.
func interimProfile(b *brain.Brain, name string, getenv func(string) string) (model.Profile, error) {
	m, ok := b.Frame.Manifest.Models[name]
	if !ok {
		return model.Profile{Name: name, Model: getenv("OPENAI_MODEL"), BaseURL: getenv("OPENAI_BASE_URL"), APIKey: attache.NewSecret(getenv("OPENAI_API_KEY"))}, nil
	}
	return model.Profile{Name: name, Model: m.Model, BaseURL: m.BaseURL.Resolve(getenv).Reveal(), APIKey: m.APIKey.Resolve(getenv)}, nil
}
