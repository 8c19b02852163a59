package builtin

import (
	"context"
	_ "embed"

	"attache"
	"attache/internal/tools"
)

//go:embed words/doctor_check.md
var doctorCheckWords string

// Examination is what the doctor found, as far as it may be told in one place.
type Examination struct {
	Findings []any // of the doctor, each one JSON object
	OK       bool  // none of them failed
	ThisChat bool  // only what concerns this chat is told, because it is bound to a key (decisions § 3.15)
}

// mostFindings bounds an answer: a model reads no list of thousands.
const mostFindings = 50

// DoctorCheck is the tool doctor_check (matrix H11): the same findings as `attache
// doctor`. examine makes the checks for a place; it leaves out what may not be told
// there.
func DoctorCheck(examine func(context.Context, attache.Call) Examination) attache.Tool {
	return tools.Make(attache.Tool{
		Name: "doctor_check", Description: words(doctorCheckWords),
		Capability: "doctor:read", Risk: attache.RiskSafe,
	}, func(ctx context.Context, c attache.Call, _ struct{}) attache.Result {
		x := examine(ctx, c)
		fields := map[string]any{"healthy": x.OK, "findings": x.Findings[:min(len(x.Findings), mostFindings)]}
		if x.Findings == nil {
			fields["findings"] = []any{}
		}
		if more := len(x.Findings) - mostFindings; more > 0 {
			fields["more"] = more
		}
		if x.ThisChat {
			fields["about"] = "this chat only, because it is bound to one entity"
		}
		return attache.OK(fields)
	})
}
