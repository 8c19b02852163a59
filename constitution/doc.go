// Package constitution reads the frame of a brain: MANIFEST.yaml with its knobs,
// the features with their switches, the roles and the principles.
//
// A [Frame] is a plain value made from a tree of files; it decides nothing and
// talks to nobody. Each mistake is a problem with its place, and each file stands
// for itself: a role that does not load leaves the other roles alone. Only
// MANIFEST.yaml is different, because everything rests on it: while it is wrong,
// the last one that was right stays in force.
//
// Whether a role's body uses selectors that exist is not judged here but in
// internal/prompt, which compiles it.
package constitution
