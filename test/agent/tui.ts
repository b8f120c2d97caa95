/**
 * Drives the real TUI: the agent in a terminal of tmux, keys in, screen out. A tmux server of its own on a private
 * socket, so that nobody's terminal is touched and one kill ends everything.
 */
import { endWithUs } from "./child.ts"
import { requireTool } from "./fetch.ts"
import type { Sandbox } from "./sandbox.ts"
import { waitFor } from "./wait.ts"

const START_MS = 60_000
const LEAVE_MS = 10_000
/** Past this the agent is ended even when the test that drives it is gone. */
const LIFE_S = 180

export interface Tui {
  /** Types text as it is; no key names. */
  type: (text: string) => void
  /** Presses a key by its tmux name, such as `Enter`, `Escape`, `C-c`. */
  press: (key: string) => void
  screen: () => string
  /** Waits until the screen shows it. Throws with the screen when the deadline passes. */
  untilScreen: (shown: RegExp, deadlineMs: number) => Promise<void>
  /** Leaves as a user does, then ends what is left. */
  stop: () => Promise<void>
}

/** Starts the TUI and waits until it takes input. Throws with the remedy when tmux is missing. */
export async function startTui(sandbox: Sandbox, flags: readonly string[] = []): Promise<Tui> {
  const program = requireTool("tmux", "install tmux, which the TUI scenarios drive")
  requireTool("timeout", "install coreutils")
  const socket = `aep-${process.pid}`
  const tmux = (...args: string[]) =>
    Bun.spawnSync([program, "-L", socket, "-f", "/dev/null", ...args], {
      cwd: sandbox.project,
      env: { ...sandbox.env, TERM: "xterm-256color" },
    })
  const screen = () => tmux("capture-pane", "-p", "-t", "tui").stdout.toString()
  const isRunning = () => tmux("has-session", "-t", "tui").exitCode === 0

  // `--foreground`: without it the agent is stopped by the terminal and the screen stays empty.
  const started = tmux(
    "new-session",
    "-d",
    "-s",
    "tui",
    "-x",
    "160",
    "-y",
    "45",
    "--",
    "timeout",
    "--foreground",
    `${LIFE_S}`,
    sandbox.binary,
    ...flags,
  )
  if (started.exitCode !== 0) throw new Error(`tmux: ${started.stderr.toString().trim()}`)
  const untilScreen = async (shown: RegExp, deadlineMs: number) => {
    await waitFor(`${shown} on the screen`, deadlineMs, () => shown.test(screen()), screen)
  }
  const kill = () => {
    tmux("kill-server")
    forget()
  }
  const forget = endWithUs(() => void tmux("kill-server"))
  try {
    await untilScreen(/Ask anything/, START_MS)
  } catch (error) {
    kill()
    throw error
  }
  return {
    type: (text) => void tmux("send-keys", "-t", "tui", "-l", text),
    press: (key) => void tmux("send-keys", "-t", "tui", key),
    screen,
    untilScreen,
    stop: async () => {
      const leave = () => {
        if (!isRunning()) return true
        tmux("send-keys", "-t", "tui", "C-c")
        return false
      }
      await waitFor("end of the TUI", LEAVE_MS, leave).finally(kill)
    },
  }
}
