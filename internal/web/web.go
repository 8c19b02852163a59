// Package web is what every page of Attaché shares: the guard or the door before it,
// the files that a browser fetches, and the sheet that tells of one turn.
//
// The data is plain values. A [Turn] is what is shown of a recorded turn; whoever
// wires a page fills it from the records, so no page knows a table. Pages are HTML
// made here, on the server. What a browser loads beside them (styles, scripts) is
// embedded, ours but for one small library whose licence stands beside it, and
// comes from nowhere else: the content security policy allows no other source, no
// inline script and no inline style.
package web

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// policy is the content security policy of every answer. Nothing but our own files
// is loaded, so words of strangers that became markup after all could neither run
// nor fetch nor send anything.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Guard stands before pages that only this machine's browser may use. It answers
// only under a loopback name, so that a stranger's domain that resolves here is
// refused; it takes a change only from our own pages, judged by what the browser
// says of the request's source and by a token that only they carry.
type Guard struct {
	token string
	cross *http.CrossOriginProtection
	limit int64
}

// NewGuard makes a guard with a token of its own. No request's body may be longer
// than limit bytes.
func NewGuard(limit int64) *Guard {
	return &Guard{token: rand.Text(), cross: http.NewCrossOriginProtection(), limit: limit}
}

// Token is what a form sends as the field "token", or a script as the header
// X-Token.
func (g *Guard) Token() string { return g.token }

// Wrap puts the guard before a handler.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		if !loopback(r.Host) {
			http.Error(w, "This page answers on this machine only, under 127.0.0.1 or localhost.", http.StatusMisdirectedRequest)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, g.limit)
		if why := refuses(g.cross, r, g.token); why != "" {
			http.Error(w, why, http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// secure sets the headers that every answer has.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// refuses gives the reason not to make the change that a request asks for, "" for
// none: it comes from another site's page, or without the token that only our own
// pages carry. A request that only reads is refused by nothing.
func refuses(cross *http.CrossOriginProtection, r *http.Request, want string) string {
	if reads(r) {
		return ""
	}
	if cross.Check(r) != nil {
		return "This change was asked for by another site's page, so it was not made."
	}
	token := r.Header.Get("X-Token")
	if token == "" {
		token = r.FormValue("token") // reads the form, within the limit
	}
	if subtle.ConstantTimeCompare([]byte(token), []byte(want)) != 1 {
		return "This page is from before the last start. Load it again, then repeat what you did."
	}
	return ""
}

// reads reports whether a request changes nothing.
func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// loopback reports whether a Host header names this machine itself.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
