package cliagent

import "syscall"

// endingWithUs asks the kernel to kill the process when the thread that started it is
// gone. What the process has started itself is not meant: it sees its pipes end.
func endingWithUs(a *syscall.SysProcAttr) *syscall.SysProcAttr {
	a.Pdeathsig = syscall.SIGKILL
	return a
}
