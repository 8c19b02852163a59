// Package knowledge reads folders of open documents (ODS 0.1, text 4): Markdown
// files that say in their frontmatter what must be read before them, and so can be
// put before a model as a short list in the right order, and never as a whole folder.
//
// A [Workspace] is one such folder: a pack of a brain, or any folder with an ods.toml.
// It is read once and never changed. [Workspace.Lint] says everything that is wrong
// in it; [Workspace.ReadingList] gives what is to be read for one document, within a
// number of tokens, and names what is left out and why. [Library] is every pack of a
// brain, and looks up by one name across them.
//
// Nothing outside of the folder is ever read: references are joined as text and
// refused when they climb out, and files are opened through whoever made the file
// system, which for a folder on disk is an os.Root. A document that is private, and
// one whose frontmatter cannot be read and so might be, is left out for everybody who
// is not privileged.
package knowledge
