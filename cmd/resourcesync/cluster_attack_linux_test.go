package main

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"
)

// attack kills every part in turn, in rounds of random order, and upgrades the processes in the middle. It takes
// longer than length if one round does.
func (c *cluster) attack(length time.Duration) {
	kill := map[string]func(){"primary": c.failover, "standby": c.killStandby}
	restarted := []*service{c.store, c.front}
	for _, p := range c.peers {
		restarted = append(restarted, p.service)
	}
	for _, m := range c.mirrors {
		restarted = append(restarted, m.service)
	}
	for _, s := range restarted {
		kill[s.name] = func() { c.restart(s) }
	}
	began, upgraded := time.Now(), false
	for round := 0; ; round++ {
		parts := slices.Sorted(maps.Keys(kill))
		rand.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		for _, part := range parts {
			if !upgraded && time.Since(began) > length/2 {
				c.upgrade()
				upgraded = true
			}
			if upgraded && round > 0 && time.Since(began) > length {
				return
			}
			kill[part]()
			pause(2 * time.Second)
		}
	}
}

// pause waits for a random time.
func pause(most time.Duration) { time.Sleep(most/4 + rand.N(most*3/4)) }

// restart kills a program and starts it again.
func (c *cluster) restart(s *service) {
	s.kill()
	c.log.killed(s.name)
	pause(time.Second)
	s.start()
	c.log.event("%s runs again", s.name)
}

// killStandby kills the standby. As a manager of PostgreSQL does, it lets the primary commit without it.
func (c *cluster) killStandby() {
	c.standby.Kill()
	c.log.killed("standby")
	pause(time.Second)
	c.primary.Synchronous(false)
	pause(2 * time.Second)
	c.standby.Restart()
	c.primary.CaughtUp(c.standby)
	c.primary.Synchronous(true)
	c.log.event("the standby runs again")
}

// failover kills the primary and promotes the standby. The former primary becomes its standby.
func (c *cluster) failover() {
	c.primary.Kill()
	c.log.killed("primary")
	pause(time.Second)
	c.primary, c.standby = c.standby, c.primary
	c.primary.Synchronous(false) // until it has a standby
	c.primary.Promote()
	c.log.event("the standby is the primary")
	pause(time.Second)
	c.standby.Follow(c.primary)
	c.primary.CaughtUp(c.standby)
	c.primary.Synchronous(true)
	c.log.event("the former primary is its standby")
}

// upgrade replaces the programs of the processes, one after the other: by the previous release, and by the
// current program again. Where the previous release is not built, it is the same program.
func (c *cluster) upgrade() {
	current := c.peers[0].program
	for _, program := range []string{c.previous, current} {
		for _, p := range c.peers {
			p.end()
			p.program, p.previous = cmp.Or(program, current), program == c.previous && program != ""
			p.start()
			c.log.event("%s was stopped, and runs %s", p.name, filepath.Base(p.program))
			pause(time.Second)
		}
	}
}
