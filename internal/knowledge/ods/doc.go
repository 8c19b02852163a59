// Package ods reads one folder of open documents (ODS 0.1, text 4): Markdown files that
// say in their frontmatter who may read them and what must be read before them.
//
// A [Workspace] is such a folder: a pack of a brain, or any folder with an ods.toml. It
// holds every [Document] as it stood when it was read, and never changes. What is wrong
// with it is part of it, as findings: a document that is broken is kept, so that it can
// be named, and counts as private, since it may have been meant to be. Documents name
// others by path or by id; what a name means is asked of the workspace each time
// ([Workspace.Resolve] and [Workspace.Asset]) and is one file or a sentence on why none.
//
// Nothing outside of the folder is ever read: references are joined as text and refused
// when they climb out, and files are opened through whoever made the file system, which
// for a folder on disk is an os.Root.
package ods
