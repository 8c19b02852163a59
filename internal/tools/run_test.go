package tools

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"attache"

	"pgregory.net/rapid"
)

// A tool that breaks is told apart for its two readers: the model gets a sentence
// without detail, the operator the cause. One that may have acted is "unknown".
func TestBrokenTools(t *testing.T) {
	for name, c := range map[string]struct {
		run         func(context.Context, attache.Call) attache.Result
		what, cause string
	}{
		"panic":     {func(context.Context, attache.Call) attache.Result { panic("token 123:ABC") }, "broke off by a mistake of its own", "it panicked: token 123:ABC\ngoroutine "},
		"nil panic": {func(context.Context, attache.Call) attache.Result { panic(nil) }, "broke off by a mistake of its own", "it panicked: panic called with nil"},
		"goexit":    {func(context.Context, attache.Call) attache.Result { runtime.Goexit(); return attache.OK(nil) }, "broke off by a mistake of its own", "it ended without an answer"},
		"silent":    {func(context.Context, attache.Call) attache.Result { return attache.Result{} }, "broke off by a mistake of its own", `its answer is no JSON object: ""`},
		"prose":     {func(context.Context, attache.Call) attache.Result { return attache.Result{Text: "Done!"} }, "broke off by a mistake of its own", `its answer is no JSON object: "Done!"`},
		"half":      {func(context.Context, attache.Call) attache.Result { return attache.Result{Text: `{"ok":true`} }, "broke off by a mistake of its own", `its answer is no JSON object: "{\"ok\":true"`},
		"two":       {func(context.Context, attache.Call) attache.Result { return attache.Result{Text: `{"ok":true}{}`} }, "broke off by a mistake of its own", "its answer is no JSON object"},
		"list":      {func(context.Context, attache.Call) attache.Result { return attache.Result{Text: `[1]`} }, "broke off by a mistake of its own", "its answer is no JSON object"},
		"deaf":      {func(context.Context, attache.Call) attache.Result { time.Sleep(time.Hour); return attache.OK(nil) }, "was ended after 2m0s", "it took longer than 2m0s"},
	} {
		for _, effects := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				tool := tool("odd", "x", attache.RiskSafe, c.run)
				tool.Effects = effects
				result, err := registry(t, tool).Run(t.Context(), call("odd", `{}`), all())
				want, status := "odd "+c.what+"; go on without it", false
				if effects {
					want, status = "odd "+c.what+", so nobody knows whether it was carried out; it is not repeated, so look before you call it again", true
				}
				if got := sentence(t, result); got != want || strings.Contains(result.Text, `"status":"unknown"`) != status {
					t.Errorf("%s: the model reads %s", name, result.Text)
				}
				if err == nil || !strings.HasPrefix(err.Error(), "the tool odd of turn 7: ") || !strings.Contains(err.Error(), c.cause) {
					t.Errorf("%s: the operator reads %v", name, err)
				}
				time.Sleep(2 * time.Hour) // in the bubble: until the deaf one is done
			})
		}
	}
}

// A tool that notices its end in time gives its own result.
func TestTimeIsUpAndTheToolKnowsMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := tool("slow", "x", attache.RiskSafe, func(ctx context.Context, _ attache.Call) attache.Result {
			<-ctx.Done()
			time.Sleep(grace / 2)
			return attache.OK(map[string]any{"done": 3})
		})
		begin := time.Now()
		result, err := registry(t, slow).Run(t.Context(), call("slow", `{}`), all())
		if result.Text != `{"done":3,"ok":true}` || err != nil || time.Since(begin) != timeLimit+grace/2 {
			t.Errorf("%s, %v after %v", result.Text, err, time.Since(begin))
		}
	})
}

// A turn that is stopped ends its tools, and one that was stopped before begins none.
func TestEndOfTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := errors.New("/stop")
		ctx, stop := context.WithCancelCause(t.Context())
		var runs atomic.Int64
		deaf := tool("deaf", "x", attache.RiskSafe, func(context.Context, attache.Call) attache.Result {
			runs.Add(1)
			time.Sleep(time.Hour)
			return attache.OK(nil)
		})
		deaf.Effects = true
		r := registry(t, deaf)
		time.AfterFunc(time.Second, func() { stop(stopped) })
		begin := time.Now()
		result, err := r.Run(ctx, call("deaf", `{}`), all())
		if got := sentence(t, result); got != "deaf was ended together with the turn, so nobody knows whether it was carried out; it is not repeated, so look before you call it again" {
			t.Error(got)
		}
		if !errors.Is(err, context.Canceled) || !errors.Is(err, stopped) || time.Since(begin) != time.Second+grace {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		result, err = r.Run(ctx, call("deaf", `{}`), all())
		if got := sentence(t, result); got != "deaf was not run: the turn was ended" || !errors.Is(err, context.Canceled) || runs.Load() != 1 {
			t.Errorf("%s, %v, %d runs", got, err, runs.Load())
		}
		time.Sleep(2 * time.Hour) // in the bubble: until the deaf one is done
	})
}

// The tool gets the call as it is, with arguments that are one object.
func TestTheToolGetsTheCall(t *testing.T) {
	var got attache.Call
	r := registry(t, tool("take", "x", attache.RiskSafe, func(_ context.Context, c attache.Call) attache.Result {
		got = c
		return attache.OK(nil)
	}))
	c := call("take", " null ")
	c.Place, c.Person = attache.Place{Bot: "nova", Chat: -1001, Thread: 42}, "tg:user:5"
	if _, err := r.Run(t.Context(), c, all()); err != nil {
		t.Fatal(err)
	}
	if string(got.Args) != "{}" || got.Place != c.Place || got.Person != c.Person || got.ID != "c1" || got.Turn != 7 || got.Role != "support" {
		t.Errorf("%+v", got)
	}
}

// A context's block is the one answer that is no JSON object, and is never cut.
func TestBlocksPass(t *testing.T) {
	block := `<feature-context name="policy" feature="returns" link="ask">` + strings.Repeat("x", 2*maxResult) + "</feature-context>"
	r, err := fit(attache.Result{Text: block})
	if err != nil || r.Text != block {
		t.Errorf("%d bytes, %v", len(r.Text), err)
	}
	if _, err := fit(attache.Result{Text: strings.TrimSuffix(block, ">")}); err == nil {
		t.Error("half a block passes")
	}
}

func TestLongResultsAreCut(t *testing.T) {
	rows := make([]any, 900)
	for i := range rows {
		rows[i] = map[string]any{"n": i, "text": strings.Repeat("é", 40)}
	}
	for name, c := range map[string]struct {
		fields map[string]any
		want   string // the field cut
		least  int    // bytes that are still there
	}{
		"rows":   {map[string]any{"rows": rows, "total": 900}, `"cut":{"rows":"318 of 900 items are shown"}`, 30000},
		"text":   {map[string]any{"text": strings.Repeat("ä<", 20000)}, ` of 60000 bytes are shown"}`, 30000},
		"quotes": {map[string]any{"text": strings.Repeat("\"\n", 20000)}, ` of 40000 bytes are shown"}`, 30000},
		"both":   {map[string]any{"text": strings.Repeat("a", 40000), "rows": rows}, `"cut":{"rows":"`, 30000},
		"map":    {map[string]any{"stats": map[string]any{"deep": rows}, "n": 1}, `"cut":{"stats":"`, 50},
		"one":    {map[string]any{"rows": []any{strings.Repeat("a", 40000)}}, `"cut":{"rows":"0 of 1 items are shown"}`, 50},
		"empty":  {map[string]any{"": strings.Repeat("a", 40000)}, `"cut":{"":"`, 30000},
		"own":    {map[string]any{"cut": strings.Repeat("a", 40000), "n": 1}, `{"cut":{"cut":"40002 bytes are left out"},"n":1,"ok":true}`, 10},
	} {
		r, err := fit(attache.OK(c.fields))
		var back map[string]any
		if err != nil || json.Unmarshal([]byte(r.Text), &back) != nil || back["ok"] != true {
			t.Fatalf("%s: %v, %.200s", name, err, r.Text)
		}
		if len(r.Text) > maxResult || len(r.Text) < c.least || !strings.Contains(r.Text, c.want) {
			t.Errorf("%s: %d bytes, cut: %v", name, len(r.Text), back["cut"])
		}
	}
	many := map[string]any{}
	for i := range 9000 {
		many[strings.Repeat("k", i%7)+string(rune('a'+i%26))+string(rune(0x4e00+i))] = i
	}
	r, err := fit(attache.OK(many))
	if want := `{"cut":{"everything":"its `; err != nil || !strings.HasPrefix(r.Text, want) || !strings.HasSuffix(r.Text, `more than the 32768 that fit; ask for less"},"ok":true}`) {
		t.Errorf("%v %.300s", err, r.Text)
	}
}

// Whatever a tool answers, a model gets a JSON object of bounded size, and what is
// short enough comes through unchanged.
func TestResultsAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fields := rapid.MapOfN(rapid.StringN(0, 8, 40), values(3), 0, 5).Draw(t, "fields")
		times := rapid.SampledFrom([]int{0, 1, 1000, 30000}).Draw(t, "times")
		piece := rapid.StringN(1, 5, 20).Draw(t, "piece")
		fields["long"] = strings.Repeat(piece, times)
		list := make([]any, times/10)
		for i := range list {
			list[i] = piece
		}
		fields["list"] = list
		text := marshal(fields)
		r, err := fit(attache.Result{Text: text})
		var back map[string]any
		if err != nil || json.Unmarshal([]byte(r.Text), &back) != nil || len(r.Text) > maxResult {
			t.Fatalf("%v: %d bytes from %d", err, len(r.Text), len(text))
		}
		if len(text) <= maxResult && r.Text != text {
			t.Fatalf("a short result became %.200s", r.Text)
		}
		if len(text) > maxResult && back["cut"] == nil {
			t.Fatal("a cut result does not say so")
		}
	})
}

func TestUnknown(t *testing.T) {
	if got, want := Unknown("look <there> first").Text, `{"error":"look <there> first","ok":false,"status":"unknown"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
