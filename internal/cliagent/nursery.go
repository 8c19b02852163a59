package cliagent

import (
	"os/exec"
	"runtime"
)

// nursery starts processes, all of them on one thread that lives until it is closed.
// A program that is killed (kill -9, out of memory) tells its children nothing, and an
// agent that hangs would live on beside its successor in the same session and folder;
// so Linux is asked to kill a child with the one who started it (endingWithUs). It takes
// for that one the thread and not the program, and Go ends threads as it likes.
type nursery struct {
	asked chan birth
}

// birth is one process to start.
type birth struct {
	cmd *exec.Cmd
	err chan error
}

func newNursery() *nursery {
	n := &nursery{asked: make(chan birth)}
	go n.run()
	return n
}

func (n *nursery) run() {
	runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
	for b := range n.asked {
		b.err <- b.cmd.Start()
	}
}

// start starts a command. What it has started ends at close, where the system can.
func (n *nursery) start(cmd *exec.Cmd) error {
	b := birth{cmd, make(chan error)}
	n.asked <- b
	return <-b.err
}

// close ends the thread; nothing is started any more.
func (n *nursery) close() { close(n.asked) }
