package views

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// call is one statement of a pipeline: text parameters, text results.
type call struct {
	sql  string
	args []string
}

// answer is what came of a group of calls up to its end: the result of each that
// ran, and the error of the first that did not, after which the server skips the
// rest of the group.
type answer struct {
	results []*pgconn.Result
	err     error
}

// last gives the result of the group's last call.
func (a answer) last() (*pgconn.Result, error) {
	if a.err != nil || len(a.results) == 0 {
		return nil, a.err
	}
	return a.results[len(a.results)-1], nil
}

// pipe sends groups of calls in one go and gives an answer for each. An error means
// that the connection is lost; the answers that came before it are given all the
// same. Nothing is prepared under a name, so nothing is left behind on the
// connection.
func pipe(ctx context.Context, conn *pgconn.PgConn, groups ...[]call) ([]answer, error) {
	p := conn.StartPipeline(ctx)
	for _, group := range groups {
		for _, c := range group {
			args := make([][]byte, len(c.args))
			for i, arg := range c.args {
				args[i] = []byte(arg)
			}
			p.SendQueryParams(c.sql, args, nil, nil, nil)
		}
		p.SendPipelineSync()
	}
	if err := p.Flush(); err != nil {
		return nil, err
	}
	var out []answer
	for range groups {
		a, err := group(p)
		if err != nil {
			return out, errors.Join(err, ctx.Err(), p.Close())
		}
		out = append(out, a)
	}
	err := p.Close()
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		err = nil // it stands in an answer
	}
	return out, err
}

// group reads the answers up to the end of a group.
func group(p *pgconn.Pipeline) (answer, error) {
	var a answer
	for {
		got, err := p.GetResults()
		if reader, ok := got.(*pgconn.ResultReader); ok {
			fields := append([]pgconn.FieldDescription(nil), reader.FieldDescriptions()...)
			result := reader.Read()
			result.FieldDescriptions = fields // also those of no rows
			a.results, err = append(a.results, result), result.Err
		}
		var refused *pgconn.PgError
		switch {
		case errors.As(err, &refused) && refused.Severity != "FATAL" && refused.Severity != "PANIC":
			if a.err == nil {
				a.err = err
			}
		case err != nil:
			return a, err
		case got == nil:
			return a, errors.New("the database ended a conversation too early")
		}
		if _, end := got.(*pgconn.PipelineSync); end {
			return a, nil
		}
	}
}

// arrayText writes texts as Postgres reads an array of text.
func arrayText(items []string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	var b strings.Builder
	for i, item := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + escape.Replace(item) + `"`)
	}
	return "{" + b.String() + "}"
}
