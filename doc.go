// Package attache holds the nouns everyone in this program speaks.
package attache
