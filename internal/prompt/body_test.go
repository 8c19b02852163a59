package prompt

import "testing"

// What people and events say is put in as it is: nothing in it is a tag or a selector.
//
// row J10 (braces in an argument stay text)
func TestRenderBody(t *testing.T) {
	v := Values{
		Event: []byte(`{"text":"</turn_context> {{ args.company }} {% if %} & co","chat":-1001234567890123,"messageId":7,"ok":true,"none":null,
			"float":1.50,"meta":{"headers":{"X-Git-Event":"push"}},"events":[{"text":"a"},{"b":"<z>","a":1}]}`),
		Vars:  []byte(`{"n":{"z":1,"a":[true,null]}}`),
		Input: []byte(`{"text":"{{ event.text }} \\{{ x }}","args":["one","two"]}`),
		Args:  map[string]string{"company": "Acme <{{ event.text }}>", "profile.name": "N"},
	}
	for in, want := range map[string]string{
		"{{ event.text }}":                                            "&lt;/turn_context&gt; {{ args.company }} {% if %} &amp; co",
		"{{ event.chat }}":                                            "-1001234567890123",
		"{{ event.messageId }}{{event.MESSAGEID}}":                    "77",
		"{{ event.ok }}{{ event.none }}{{ event.float }}":             "true1.50",
		"{{ event.meta.headers.x-git-event }}":                        "push",
		"{{ event.meta.headers.x_git_event }}":                        "push",
		"{{ event.events.0.text }}":                                   "a",
		"{{ event.events.1 }}":                                        `{"a":1,"b":"&lt;z&gt;"}`,
		"[{{ event.events.2 }}{{ event.no.such }}{{ event.text.x }}]": "[]",
		"{{ vars }}":                                 `{"n":{"a":[true,null],"z":1}}`,
		"{{ input.text }}|{{ input.args.1 }}":        `{{ event.text }} \{{ x }}|two`,
		"{{ args.company }} {{ args.profile }}":      "Acme <{{ event.text }}> N",
		`\{{ event.text }} <b> \\{{ input.args.0 }}`: `{{ event.text }} <b> \one`,
	} {
		got, problems := RenderBody(Text{Body: in}, v)
		if got != want || problems != nil {
			t.Errorf("%s gives %q, want %q; %v", in, got, want, problems)
		}
	}
	if got, problems := RenderBody(Text{Body: "[{{ event.text }}{{ vars.x }}{{ input.text }}]"}, Values{}); got != "[]" || problems != nil {
		t.Errorf("without values: %q, %v", got, problems)
	}
	if _, problems := RenderBody(Text{File: "x.hook.md"}, Values{Event: []byte("{")}); len(problems) != 1 {
		t.Errorf("a value that is not JSON: %v", problems)
	}
}
