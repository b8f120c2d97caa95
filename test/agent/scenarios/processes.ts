/** The agent as a process of its own: `run` with its own exit, and the terminal with a person's keys. */
import { runOnce } from "../run.ts"
import type { Sandbox } from "../sandbox.ts"
import type { ProcessScenario } from "../scenario.ts"
import { startTui } from "../tui.ts"
import { SELF_REJECTED } from "./asks.ts"
import { AGENT_MS, ASKED, answered, START, touch } from "./steps.ts"

const RUN_MS = 45_000

/** Runs once; throws when the agent ends with another code, or says nothing of the text. */
async function runs(
  sandbox: Sandbox,
  prompt: string,
  { flags = [], code = 0, says = "" }: { flags?: string[]; code?: number; says?: string },
): Promise<void> {
  const ended = await runOnce(sandbox, prompt, RUN_MS, flags)
  if (ended.code === code && ended.stdout.includes(says)) return
  throw new Error(`run ended with ${ended.code}\n${ended.stdout}\n${ended.stderr}`)
}

/** Allows one ask by a key in the terminal, and leaves when the turn is over. */
async function allowByKey(sandbox: Sandbox, flags: readonly string[]): Promise<void> {
  const tui = await startTui(sandbox, flags)
  try {
    tui.type(touch)
    await tui.untilScreen(/RUN: bash/, AGENT_MS)
    tui.press("Enter")
    await tui.untilScreen(/Permission required/, AGENT_MS)
    // The first choice of the dialog is "Allow once".
    tui.press("Enter")
    await tui.untilScreen(/done\./, AGENT_MS)
    // The time it took stands under an answer that is complete; leaving before that would cut the turn off.
    await tui.untilScreen(/m1 · [\d.]+/, AGENT_MS)
  } finally {
    await tui.stop()
  }
}

const ALLOWED = [...ASKED, ...answered("once"), "tool.completed bash", "run.finished"]

/** See the titles. */
export const PROCESSES: readonly ProcessScenario[] = [
  {
    mode: "run",
    name: "run-finished",
    title: "`run` leaves a whole record although it exits right after its answer",
    budgetMs: 60_000,
    drive: (sandbox) => runs(sandbox, "SAY: hello", { says: "hello" }),
    expected: () => ({ main: [...START, "run.finished"] }),
  },
  {
    mode: "run",
    name: "run-continued",
    title: "a session continued in a new process is not started again, and its prompt opens a second run",
    budgetMs: 90_000,
    drive: async (sandbox) => {
      await runs(sandbox, "SAY: one", { says: "one" })
      await runs(sandbox, "SAY: two", { says: "two", flags: ["--continue"] })
    },
    expected: () => ({ main: [...START, "run.finished", "run.started user", "run.finished"] }),
  },
  {
    mode: "run",
    name: "run-rejects",
    title: "`run` rejects an ask by itself, and the record says that the host did",
    budgetMs: 60_000,
    on: ({ features }) => features.runRejects !== undefined,
    drive: async (sandbox) => {
      const { runRejects: code } = sandbox.agent.features
      await runs(sandbox, `${touch}\nSAY: made`, code === undefined ? {} : { code })
    },
    expected: () => ({ main: SELF_REJECTED }),
  },
  {
    mode: "run",
    name: "run-auto",
    title: "`run --auto` allows an ask by itself, and the record says that the host did",
    budgetMs: 60_000,
    // 1.0 has no such flag.
    on: ({ features }) => !features.legacy,
    drive: (sandbox) => runs(sandbox, `${touch}\nSAY: made`, { flags: ["--auto"], says: "made" }),
    expected: () => ({
      main: [
        ...ASKED,
        "attention.answered once oob by host",
        "attention.resolved answered",
        "tool.completed bash",
        "run.finished",
      ],
    }),
  },
  {
    mode: "tui",
    name: "tui-allow",
    title: "an ask allowed by a key in the terminal is answered out of band",
    budgetMs: 90_000,
    on: ({ label }) => label === "1.18.33",
    drive: (sandbox) => allowByKey(sandbox, []),
    expected: () => ({ main: ALLOWED }),
  },
  {
    mode: "tui",
    name: "tui-port",
    title: "a terminal with a port of its own loads the plugin twice and is told once",
    budgetMs: 90_000,
    on: ({ label }) => label === "1.18.33",
    drive: (sandbox) => allowByKey(sandbox, ["--port", String(sandbox.sparePort)]),
    expected: () => ({ main: ALLOWED }),
  },
]
