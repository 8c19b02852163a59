// Command bot is Attaché: flags, environment, signals and sub-commands. What runs is put
// together in the package program below it; what a command prints is made beside it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // a machine without zone files still knows what nine o'clock is in Amsterdam

	"github.com/alecthomas/kong"

	"attache"
	"attache/heartbeat"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// stdio is where a command reads and writes, so that tests can stand in.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// flags are those that every command takes (interface § 1, § 2).
type flags struct {
	Brain       string `env:"ATTACHE_BRAIN" placeholder:"DIR" help:"The brain: the folder of files you write (brain; in the demo the example)."`
	Unnamed     bool   `kong:"-"` // nobody named the brain, so it is the default one
	Data        string `env:"ATTACHE_DATA" placeholder:"DIR" help:"Where the program keeps its own things, the private Postgres among them (.attache inside the brain)."`
	DatabaseURL string `name:"database-url" placeholder:"URL" help:"Your own Postgres, postgres://…; without it a private one is started in the data folder (env DATABASE_URL)."`
	TelegramAPI string `name:"telegram-api-url" env:"TELEGRAM_API_URL" default:"https://api.telegram.org" placeholder:"URL" help:"The Bot API server (${default})."`
	Listen      string `default:"127.0.0.1:8484" env:"ATTACHE_LISTEN" placeholder:"ADDR" help:"Address for HTTP: health, webhooks; off for none (${default})."`
	PublicURL   string `name:"public-url" env:"ATTACHE_PUBLIC_URL" placeholder:"URL" help:"Address under which Telegram reaches this process: webhooks instead of long polling."`
	Private     bool   `kong:"-"` // never the database of DATABASE_URL, as in the demo, which forgets what it finds
	Log         string `default:"text" env:"ATTACHE_LOG" placeholder:"FORM" help:"Log as text or json, and a level if it is not info: json,debug (${default})."`

	// Clock gives the time; nil is the machine's. Tests have one that stands still.
	Clock heartbeat.Clock `kong:"-"`
}

// defaultBrain is the folder of a brain that nobody names.
const defaultBrain = "brain"

// commands is the command line.
type commands struct {
	flags

	Run     runCommand     `cmd:"" help:"Run every bot of the brain: the main job."`
	Demo    demoCommand    `cmd:"" help:"Talk to a bot here and now: no token, no key, no database to install."`
	Init    initCommand    `cmd:"" help:"Write a small commented brain to begin with."`
	Turns   turnsCommand   `cmd:"" help:"List recorded turns; with an id, everything about one."`
	Replay  replayCommand  `cmd:"" help:"Rebuild the requests of a recorded turn and compare them with those that were sent."`
	Beats   beatsCommand   `cmd:"" help:"Show the beats of the brain and when each is due next."`
	Explain explainCommand `cmd:"" help:"Dry run of one message: who hears it, what the turn would carry, and why."`
	Ods     odsCommand     `cmd:"" name:"ods" help:"Bounded documents: check a folder of them, or print what is to be read for one."`
	Doctor  doctorCommand  `cmd:"" help:"Check the machine and the brain; exit 1 if a check fails."`
	Version versionCommand `cmd:"" help:"Version, commit and Go."`
	Adapter adapterCommand `cmd:"" name:"agent-adapter" hidden:"" help:"Speak the CLI agent protocol for a program that does not."`
}

// run parses the command line, does what it says and gives the exit code: 2 for
// wrong usage, 1 for a failure, 0 otherwise (interface § 1).
func run(ctx context.Context, args []string, io stdio) (code int) {
	return runBy(ctx, nil, args, io)
}

// runBy is run by a clock of the caller's; nil is the machine's.
func runBy(ctx context.Context, clock heartbeat.Clock, args []string, io stdio) (code int) {
	c := commands{flags: flags{Clock: clock}}
	parser, err := kong.New(&c,
		kong.Name("attache"),
		kong.Description(introduction),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(io.out, io.err),
		kong.Exit(func(n int) { panic(exit(n)) }),
	)
	if err != nil {
		fmt.Fprintln(io.err, "attache:", err)
		return 1
	}
	defer func() { // --help ends by the Exit function above
		switch r := recover().(type) {
		case nil:
		case exit:
			code = int(r)
		default:
			panic(r)
		}
	}()
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case len(args) == 1 && args[0] == "--version":
		args = []string{"version"}
	}
	parsed, err := parser.Parse(joined(args))
	if err != nil {
		fmt.Fprintln(io.err, "attache:", wrongUsage(err))
		return 2
	}
	if c.Unnamed = c.Brain == ""; c.Unnamed {
		c.Brain = defaultBrain
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	if err := parsed.Run(&c.flags, io); err != nil {
		return report(io.err, err)
	}
	return 0
}

// exit carries the code of a command line that ends by itself, as --help does.
type exit int

// errTold ends a command with exit code 1 after it has told why.
var errTold = errors.New("it was told")

// report prints an error for a person and gives its exit code.
func report(w io.Writer, err error) int {
	if errors.Is(err, errFindings) || errors.Is(err, errTold) {
		return 1
	}
	fmt.Fprintln(w, "attache:", err)
	var e *attache.Error
	if errors.As(err, &e) && e.Kind == attache.KindUsage {
		return 2
	}
	return 1
}

func misused(format string, args ...any) error {
	return &attache.Error{Kind: attache.KindUsage, Say: fmt.Sprintf(format, args...)}
}
