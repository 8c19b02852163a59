// Package knowledge is every pack of a brain's knowledge as one library: folders of open
// documents (ODS 0.1, text 4) that are found by one name, searched by words, and put
// before a model as a short list in the right order, never as a whole folder.
//
// A [Library] holds shelves, one for each pack: a folder as package ods read it, under
// the name that people and prompts call it by. It is made once for a brain and never
// changed; a document has three names there (its pack and id, its selector in prompts,
// and its id alone where no other pack has it), all of them noted when it is made.
//
// What the library gives is for whoever talks to the bot. So no private document is
// ever in a result, nor one whose frontmatter cannot be read and so might be private,
// and no error names one. A person at the keyboard, who may read the files anyway, asks
// the packages below instead:
//
//	paths    paths and ignore rules as documents write them; text alone
//	ods      one folder: its documents, what they say of themselves and what they name
//	lint     everything that is wrong in a folder
//	reading  what is to be read for one document, within a number of tokens
package knowledge
