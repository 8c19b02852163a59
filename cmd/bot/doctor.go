package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"attache"
	"attache/cmd/bot/knobs"
	"attache/cmd/bot/starter"
	"attache/gateway"
	"attache/heartbeat"
	"attache/internal/brain"
	"attache/internal/doctor"
	"attache/internal/model"
	"attache/internal/telegram"
)

// errFindings ends `doctor` with exit code 1 after its findings were printed.
var errFindings = errors.New("a check failed")

type doctorCommand struct {
	Verbose bool `help:"Also list the effective knobs of MANIFEST.yaml and where each stands."`
	JSON    bool `name:"json" help:"Print JSON."`
}

// Run makes every check and prints what it found.
func (c doctorCommand) Run(ctx context.Context, f *flags, io stdio) error {
	log, err := newLog(io.err, "text,error", nil)
	if err != nil {
		return err
	}
	b, problems, err := brain.Load(f.Brain, nil)
	if err != nil {
		return err
	}
	s := subject(f, b, problems, lookup)
	s.askTokens(f)
	db := s.askDatabase(ctx, f, log, io)
	if db != nil {
		defer db.Close()
	}
	findings := doctor.Examine(ctx, s.Subject)
	if err := doctor.Print(io.out, findings, c.JSON); err != nil {
		return err
	}
	if c.Verbose && !c.JSON {
		for _, line := range knobs.Lines(b) {
			fmt.Fprintln(io.out, line)
		}
	}
	if !c.JSON && len(findings) == 0 {
		fmt.Fprintln(io.out, "all is well")
	}
	if !doctor.OK(findings) {
		return errFindings
	}
	return nil
}

// examined is what the doctor is given.
type examined struct{ doctor.Subject }

// subject gives what the command and the running program examine alike.
func subject(f *flags, b *brain.Brain, problems []attache.Problem, getenv func(string) string) *examined {
	// A redirect leads elsewhere than to who is asked, so none is followed.
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	s := &examined{doctor.Subject{
		Brain: b, Problems: problems, Now: time.Now, Getenv: getenv,
		Date: func(ctx context.Context) (time.Time, error) { return doctor.DateOf(ctx, client, f.TelegramAPI) },
		Catalog: func(ctx context.Context, p model.Profile) (doctor.Catalog, error) {
			return doctor.AskCatalog(ctx, client, p)
		},
		Folder: f.data(), Free: func() (uint64, error) { return free(f) },
		Secrets: secretFiles(), Also: starter.Ownerless(b),
	}}
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"} {
		if _, err := secretEnv(name); err != nil {
			s.Also = append(s.Also, doctor.Finding{Level: doctor.Warn, Check: "Models", What: err.Error(), Do: "then start it again"})
		}
	}
	return s
}

// patient gives one bot to be asked about.
func (f *flags) patient(id attache.BotID, client doctor.Telegram) doctor.Bot {
	b := doctor.Bot{ID: id, Client: client, Variable: variableOf(id)}
	if u, err := url.Parse(f.PublicURL); err == nil && f.PublicURL != "" {
		b.Webhook = u.JoinPath("telegram", string(id)).String()
	}
	return b
}

// askTokens has the bots asked about whose tokens there are.
func (s *examined) askTokens(f *flags) {
	found, err := tokens(botsOf(s.Brain))
	if err != nil {
		s.Also = append(s.Also, doctor.Finding{Level: doctor.Fail, Check: "Telegram", What: err.Error()})
		s.Date = nil
		return
	}
	for _, id := range botsOf(s.Brain) {
		if token, ok := found[id]; ok {
			s.Bots = append(s.Bots, f.patient(id, telegram.NewClient(telegram.ClientOptions{Bot: id, Token: token, BaseURL: f.TelegramAPI})))
		}
	}
}

// databasePatience is how long the doctor waits for a database of one's own: a laptop
// without a route to it should not wait as long as a server that is started with it.
const databasePatience = 5 * time.Second

// askDatabase opens the database. One of DATABASE_URL that is out of reach is no
// failure of the brain; the private one that cannot be started is.
func (s *examined) askDatabase(ctx context.Context, f *flags, log *slog.Logger, io stdio) *database {
	s.Gap.Level = doctor.Fail
	if f.DatabaseURL != "" || os.Getenv("DATABASE_URL") != "" || os.Getenv("DATABASE_URL_FILE") != "" {
		s.Gap.Level = doctor.Skipped
		bounded, cancel := context.WithTimeout(ctx, databasePatience)
		defer cancel()
		ctx = bounded
	}
	db, err := openDatabase(ctx, f, false, log, func(s string) { fmt.Fprintln(io.err, s) })
	if err != nil {
		s.Gap.What = err.Error()
		return nil
	}
	if err := errors.Join(gateway.Migrate(ctx, db.DB), heartbeat.Migrate(ctx, db.DB)); err != nil {
		db.Close()
		s.Gap.Level, s.Gap.What = doctor.Fail, err.Error()
		return nil
	}
	s.DB = db.DB
	return db
}

// free gives the bytes that are left where the program keeps its data, or where it
// would make that folder.
func free(f *flags) (uint64, error) {
	var st syscall.Statfs_t
	err := syscall.Statfs(f.data(), &st)
	if errors.Is(err, os.ErrNotExist) {
		err = syscall.Statfs(f.Brain, &st)
	}
	return uint64(st.Bavail) * uint64(st.Bsize), err
}

// secretFiles lists the files that variables of secrets name.
func secretFiles() []doctor.SecretFile {
	var out []doctor.SecretFile
	for _, kv := range os.Environ() {
		name, path, _ := strings.Cut(kv, "=")
		base, isFile := strings.CutSuffix(name, "_FILE")
		ours := strings.HasPrefix(base, tokenPrefix) || strings.HasPrefix(base, "ATTACHE_HOOK_SECRET_") || slices.Contains([]string{"ATTACHE_ADMIN_TOKEN", "DATABASE_URL", "OPENAI_API_KEY"}, base)
		if !isFile || !ours {
			continue
		}
		if info, err := os.Stat(path); err == nil {
			out = append(out, doctor.SecretFile{Variable: name, Path: path, Mode: info.Mode()})
		}
	}
	slices.SortFunc(out, func(a, b doctor.SecretFile) int { return strings.Compare(a.Variable, b.Variable) })
	return out
}
