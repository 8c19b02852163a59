package postgres

import "runtime"

// installCommand is what a person types on this system.
func installCommand() string {
	if runtime.GOOS == "darwin" {
		return "brew install postgresql@17"
	}
	return "sudo apt install postgresql"
}
