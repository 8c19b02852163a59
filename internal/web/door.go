package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"attache"
)

// Door stands before the operator's pages. Who has the admin token gets a session, a
// cookie that only this token can have signed: a restart with the same token keeps
// it. A script may show the token itself, as `Authorization: Bearer`. A change is
// taken from a session only when our own page asks for it (see [Guard]).
type Door struct {
	o     DoorOptions
	key   []byte // signs sessions; made of the token
	cross *http.CrossOriginProtection
	brake brake
	login *template.Template
	icon  string
	style string

	mu    sync.Mutex
	ended map[string]time.Time // sessions that were logged out, until they would have ended
}

// DoorOptions are what a door needs. Token, Assets and Now are required.
type DoorOptions struct {
	Token  attache.Secret
	Assets *Assets
	Now    func() time.Time
	// AnyHost lets the pages answer under every host name, because others than this
	// machine can reach them: the login alone protects them then. Without it they
	// answer under loopback names and Hosts.
	AnyHost bool
	Hosts   []string // names of this program elsewhere, as behind a proxy
}

// The limits of a session and of what it may send.
const (
	sessionLife = 14 * 24 * time.Hour
	largestForm = 256 << 10 // bytes
	cookieName  = "attache_session"
)

// NewDoor makes a door. Without a token there is none: nobody could come in.
func NewDoor(o DoorOptions) (*Door, error) {
	if o.Token.Empty() {
		return nil, errors.New("the pages have no token to log in with; set ATTACHE_ADMIN_TOKEN")
	}
	login, err := template.New("login").ParseFS(files, "login.html")
	if err != nil {
		return nil, err
	}
	d := &Door{o: o, cross: http.NewCrossOriginProtection(), login: login, icon: o.Assets.URL("case.svg"), style: o.Assets.URL("paper.css"),
		brake: brake{now: o.Now, wrong: map[string]slips{}}, ended: map[string]time.Time{}}
	d.key = d.sign([]byte(o.Token.Reveal()), "sessions of the pages")
	return d, nil
}

// Pages lets a handler be reached by those who logged in; others are sent to /login.
func (d *Door) Pages(next http.Handler) http.Handler {
	return d.guarded(next, func(w http.ResponseWriter, r *http.Request) {
		to := "/login"
		if reads(r) {
			to += "?next=" + url.QueryEscape(r.URL.RequestURI())
		}
		http.Redirect(w, r, to, http.StatusSeeOther)
	})
}

// API lets a handler be reached by those who logged in or show the token; others are
// answered with 401.
func (d *Door) API(next http.Handler) http.Handler {
	return d.guarded(next, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "this needs a login at /login, or the header Authorization: Bearer <ATTACHE_ADMIN_TOKEN>", http.StatusUnauthorized)
	})
}

// FormToken is what a form of this request's session sends as the field "token".
func (d *Door) FormToken(r *http.Request) string {
	session, ok := d.session(r)
	if !ok {
		return ""
	}
	return encode(d.sign(d.key, "forms of "+session))
}

// guarded puts the door before a handler; stranger answers who is not let in.
func (d *Door) guarded(next http.Handler, stranger http.HandlerFunc) http.Handler {
	return d.sound(func(w http.ResponseWriter, r *http.Request) {
		if given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
			switch wait := d.try(r, given); {
			case wait > 0:
				tooMany(w, wait)
			case wait < 0:
				stranger(w, r)
			default: // no browser sends this header by itself, so no page can have made it
				next.ServeHTTP(w, r)
			}
			return
		}
		if _, ok := d.session(r); !ok {
			stranger(w, r)
			return
		}
		if why := refuses(d.cross, r, d.FormToken(r)); why != "" {
			http.Error(w, why, http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// sound sets the headers, and lets only hosts and bodies through that may be.
func (d *Door) sound(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		if !d.o.AnyHost && !loopback(r.Host) && !slices.Contains(d.o.Hosts, r.Host) {
			http.Error(w, "These pages answer on this machine only, under 127.0.0.1 or localhost; for another name set ATTACHE_LISTEN or ATTACHE_PUBLIC_URL.", http.StatusMisdirectedRequest)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, largestForm)
		next(w, r)
	})
}

// ServeHTTP answers /login and /logout.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.sound(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/logout" && r.Method == http.MethodPost:
			d.leave(w, r)
		case r.URL.Path == "/login" && r.Method == http.MethodPost:
			d.enter(w, r)
		case r.URL.Path == "/login" && reads(r):
			d.ask(w, r)
		default:
			http.NotFound(w, r)
		}
	}).ServeHTTP(w, r)
}

// ask shows the login, to those who need it.
func (d *Door) ask(w http.ResponseWriter, r *http.Request) {
	next := local(r.URL.Query().Get("next"))
	if _, ok := d.session(r); ok {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return
	}
	d.form(w, http.StatusOK, next, "")
}

// enter takes the token and gives a session.
func (d *Door) enter(w http.ResponseWriter, r *http.Request) {
	if d.cross.Check(r) != nil {
		http.Error(w, "This login was asked for by another site's page, so it was not made.", http.StatusForbidden)
		return
	}
	next := local(r.FormValue("next"))
	switch wait := d.try(r, strings.TrimSpace(r.FormValue("token"))); {
	case wait > 0:
		w.Header().Set("Retry-After", seconds(wait))
		d.form(w, http.StatusTooManyRequests, next, "That was wrong too often. Wait "+seconds(wait)+" s, then try again.")
	case wait < 0:
		d.form(w, http.StatusUnauthorized, next, "That is not the token.")
	default:
		http.SetCookie(w, d.cookie(r, d.newSession(), sessionLife))
		http.Redirect(w, r, next, http.StatusSeeOther)
	}
}

// leave ends a session for good, in this process and in the browser.
func (d *Door) leave(w http.ResponseWriter, r *http.Request) {
	session, ok := d.session(r)
	if ok {
		if why := refuses(d.cross, r, d.FormToken(r)); why != "" {
			http.Error(w, why, http.StatusForbidden)
			return
		}
		d.mu.Lock()
		now := d.o.Now()
		for s, end := range d.ended {
			if end.Before(now) {
				delete(d.ended, s)
			}
		}
		d.ended[session] = now.Add(sessionLife)
		d.mu.Unlock()
	}
	http.SetCookie(w, d.cookie(r, "", -time.Second))
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

func (d *Door) form(w http.ResponseWriter, status int, next, wrong string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	// A browser that has gone needs no page.
	_ = d.login.ExecuteTemplate(w, "login", struct{ Icon, Style, Next, Wrong string }{d.icon, d.style, next, wrong})
}

// try compares what was given with the token: 0 is right, less than 0 wrong, and
// more the time for which this address is not listened to.
func (d *Door) try(r *http.Request, given string) time.Duration {
	from := address(r)
	if wait := d.brake.wait(from); wait > 0 {
		return wait
	}
	if subtle.ConstantTimeCompare([]byte(given), []byte(d.o.Token.Reveal())) == 1 {
		d.brake.right(from)
		return 0
	}
	d.brake.slip(from)
	return -1
}

// newSession makes a session: a number that nobody guesses, its end, and the
// signature of both.
func (d *Door) newSession() string {
	body := make([]byte, 24)
	_, _ = rand.Read(body[:16]) // it never errs
	binary.BigEndian.PutUint64(body[16:], uint64(d.o.Now().Add(sessionLife).Unix()))
	return encode(append(body, d.sign(d.key, string(body))...))
}

// session gives the session of a request, if it is ours and has not ended.
func (d *Door) session(r *http.Request) (string, bool) {
	c, err := r.Cookie(cookieName)
	if err != nil {
		return "", false
	}
	raw, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil || len(raw) != 24+sha256.Size || !hmac.Equal(raw[24:], d.sign(d.key, string(raw[:24]))) {
		return "", false
	}
	if end := time.Unix(int64(binary.BigEndian.Uint64(raw[16:24])), 0); !d.o.Now().Before(end) {
		return "", false
	}
	// The bytes and not their text, which could be written in more than one way.
	session := string(raw[:16])
	d.mu.Lock()
	defer d.mu.Unlock()
	_, gone := d.ended[session]
	return session, !gone
}

func (d *Door) sign(key []byte, what string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(what))
	return mac.Sum(nil)
}

// cookie is the session's cookie. It is bound to TLS where the browser speaks it.
func (d *Door) cookie(r *http.Request, value string, life time.Duration) *http.Cookie {
	return &http.Cookie{Name: cookieName, Value: value, Path: "/", MaxAge: int(life / time.Second), HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"}
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func seconds(d time.Duration) string {
	return strconv.Itoa(int((d + time.Second - 1) / time.Second))
}

func tooMany(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", seconds(wait))
	http.Error(w, "wrong tokens came from this address too often; wait "+seconds(wait)+" s", http.StatusTooManyRequests)
}

// local gives the address to go on to after a login, if it is one of ours.
func local(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") ||
		strings.ContainsAny(next, "\\\r\n\t") || u.Path == "/login" || u.Path == "/logout" {
		return "/"
	}
	return next
}
