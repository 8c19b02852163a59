package engage

// Words says a word of `engage` in words, as the bot itself would: what it answers to.
func Words(word string) string {
	switch word {
	case "all":
		return "every message"
	case "addressed":
		return "my @name and replies to me"
	case "name":
		return "my name, my @name and replies to me"
	case "mention":
		return "my @name"
	case "reply":
		return "replies to me"
	}
	return "nothing that is said here"
}
